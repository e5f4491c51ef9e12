// Caches the page's files, so that the page opens at once and without a network. Each file is checked when it arrives. The page
// itself never contacts another origin. perf2x web writes KEPT above this line: {name, files: {path: {url, integrity}}}, with
// the name of the cache and the files by their paths below the page.
const SCOPE = self.registration.scope;
const TYPES = { html: "text/html", css: "text/css", js: "text/javascript", mjs: "text/javascript", json: "application/json", wasm: "application/wasm" };

async function cacheFiles() {
  const cache = await caches.open(KEPT.name);
  const all = Object.entries(KEPT.files);
  let cached = 0;
  await Promise.all(
    all.map(async ([path, { url, integrity }]) => {
      try {
        // files of another origin, such as Pyodide's CDN, are fetched without credentials
        const options = url === path ? { credentials: "same-origin", cache: "no-cache" } : { credentials: "omit" };
        const answer = await fetch(new URL(url, SCOPE), { integrity, ...options });
        if (!answer.ok) throw new Error(`${answer.status} ${answer.statusText}`);
        const headers = { "Content-Type": TYPES[path.split(".").at(-1)] ?? "application/octet-stream" };
        await cache.put(new URL(path, SCOPE), new Response(answer.body, { headers }));
      } catch (error) {
        await tellPages({ failedUrl: new URL(url, SCOPE).href, reason: error.message });
        throw error;
      }
      cached += 1;
      await tellPages({ cached, total: all.length });
    }),
  );
}

async function tellPages(message) {
  for (const client of await self.clients.matchAll({ includeUncontrolled: true })) client.postMessage(message);
}

async function deleteOtherCaches() {
  for (const name of await caches.keys()) if (name.startsWith("perf2x-") && name !== KEPT.name) await caches.delete(name);
  await self.clients.claim();
}

async function respond(request) {
  const url = new URL(request.url);
  if (url.origin !== self.location.origin) return Response.error();
  const path = url.href.startsWith(SCOPE) ? url.href.slice(SCOPE.length).replace(/[?#].*/, "") || "index.html" : "";
  const cache = await caches.open(KEPT.name);
  return (path in KEPT.files && (await cache.match(new URL(path, SCOPE)))) || fetch(request);
}

self.addEventListener("install", (event) => event.waitUntil(cacheFiles()));
self.addEventListener("activate", (event) => event.waitUntil(deleteOtherCaches()));
self.addEventListener("message", (event) => event.waitUntil(self.clients.claim()));
self.addEventListener("fetch", (event) => event.respondWith(respond(event.request)));
