"use strict";
// Source lines in colours: comments, strings and keywords of the languages that are compiled to recorded code.

const WORDS = "if else elif for while loop do return break continue switch case match default try catch except finally throw throws raise new delete struct class enum union trait impl interface extends namespace template typename typedef using import from package use mod const static constexpr inline extern volatile mut let var auto fn func def lambda pub public private protected void bool char int long short float double unsigned signed type go defer select range yield async await in is not and or pass as where with None True False nil null nullptr true false this self sizeof unsafe move";
/** Strings and comments of languages with // (quotes there hold one letter or begin a lifetime), and of languages with #. */
const [SLASHES, HASHES] = ["'(?:[^'\\\\]|\\\\.[^']*)'|//.*|/\\*.*?(?:\\*/|$)", "'(?:[^'\\\\]|\\\\.)*'|#.*"]
  .map((rest) => new RegExp(`("(?:[^"\\\\]|\\\\.)*"|${rest}|\\b(?:${WORDS.replaceAll(" ", "|")})\\b)`));

/**
 * Parts of a line: kind ("" for parts without a colour) and text.
 * @param {string} line
 * @param {string} path of the file, whose suffix determines the sign of comments
 * @returns {[string, string][]}
 */
function lineParts(line, path) {
  const parts = line.split(/\.(py|pyx|rb|sh|pl|jl|R|nim)$/.test(path) ? HASHES : SLASHES);
  return parts.map((part, at) => /** @type {[string, string]} */ ([at % 2 ? kindOf(part) : "", part])).filter(([, part]) => part);
}

const kindOf = (part) => (/^["']/.test(part) ? "text" : /^\w/.test(part) ? "word" : "note");

/** The line as elements. */
const coloured = (line, path) => lineParts(line, path).map(([kind, part]) => (kind ? make("span", { className: kind }, part) : part));
