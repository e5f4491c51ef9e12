"use strict";
// What the page runs first: scripts and data are texts in it, packed alike.

function embedded(id) {
  return document.getElementById(id).textContent.trim();
}

/** The text in base64 of gzip, or itself where the file was written without compression. */
async function unpacked(text) {
  if (/^["{]/.test(text)) return text;
  const bytes = Uint8Array.from(atob(text.replace(/\s+/g, "")), (letter) => letter.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
}
