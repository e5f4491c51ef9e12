"use strict";
// Runs first: scripts and data are texts in the page, packed in the same way.

function embedded(id) {
  return document.getElementById(id).textContent.trim();
}

/** Gzip as base64, or the text itself if the file was written without compression. */
async function unpacked(text) {
  if (/^["{]/.test(text)) return text;
  const bytes = Uint8Array.from(atob(text.replace(/\s+/g, "")), (letter) => letter.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
}
