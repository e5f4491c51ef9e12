// Caches the page's files, so that it opens at once and without a network. Each is checked when it arrives; the page itself
// never contacts another origin. KEPT is written above this line: {name, files: {path: {url, integrity}}}.
const SCOPE = self.registration.scope;
const TYPES = { html: "text/html", css: "text/css", js: "text/javascript", mjs: "text/javascript", json: "application/json", wasm: "application/wasm" };

async function keep() {
  const cache = await caches.open(KEPT.name);
  const all = Object.entries(KEPT.files);
  let kept = 0;
  await Promise.all(
    all.map(async ([path, { url, integrity }]) => {
      try {
        const how = url === path ? { credentials: "same-origin", cache: "no-cache" } : { credentials: "omit" };
        const answer = await fetch(new URL(url, SCOPE), { integrity, ...how });
        if (!answer.ok) throw new Error(`${answer.status} ${answer.statusText}`);
        const headers = { "Content-Type": TYPES[path.split(".").at(-1)] ?? "application/octet-stream" };
        await cache.put(new URL(path, SCOPE), new Response(answer.body, { headers }));
      } catch (error) {
        await tell({ lacking: new URL(url, SCOPE).href, why: error.message });
        throw error;
      }
      kept += 1;
      await tell({ kept, of: all.length });
    }),
  );
}

async function tell(message) {
  for (const client of await self.clients.matchAll({ includeUncontrolled: true })) client.postMessage(message);
}

async function forgetOthers() {
  for (const name of await caches.keys()) if (name.startsWith("perf2x-") && name !== KEPT.name) await caches.delete(name);
  await self.clients.claim();
}

async function answer(request) {
  const url = new URL(request.url);
  if (url.origin !== self.location.origin) return Response.error();
  const path = url.href.startsWith(SCOPE) ? url.href.slice(SCOPE.length).replace(/[?#].*/, "") || "index.html" : "";
  const cache = await caches.open(KEPT.name);
  return (path in KEPT.files && (await cache.match(new URL(path, SCOPE)))) || fetch(request);
}

self.addEventListener("install", (event) => event.waitUntil(keep()));
self.addEventListener("activate", (event) => event.waitUntil(forgetOthers()));
self.addEventListener("message", (event) => event.waitUntil(self.clients.claim()));
self.addEventListener("fetch", (event) => event.respondWith(answer(event.request)));
