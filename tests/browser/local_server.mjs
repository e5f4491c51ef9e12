// Serves a folder to a browser of this machine.
import fs from "node:fs";
import http from "node:http";
import path from "node:path";

const TYPES = { ".html": "text/html", ".js": "text/javascript", ".mjs": "text/javascript", ".css": "text/css", ".wasm": "application/wasm" };

export function serve(root) {
  const server = http.createServer((request, response) => {
    const name = path.normalize(decodeURIComponent(new URL(request.url, "http://x").pathname));
    const file = path.join(path.resolve(root), name === "/" ? "index.html" : name);
    if (!file.startsWith(path.resolve(root)) || !fs.existsSync(file)) return response.writeHead(404).end();
    response.writeHead(200, { "content-type": TYPES[path.extname(file)] || "application/octet-stream" });
    return response.end(fs.readFileSync(file));
  });
  return new Promise((done) => server.listen(0, "127.0.0.1", () => done(server)));
}
