// Questions of a Python process, a line of JSON each, and the answers to them: what is asked for has a browser already.
import readline from "node:readline";

/** Answers every line of standard input with a line on standard output, {told} or {failed}, until there are no more. */
export async function answer(tell) {
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const said = await tell(JSON.parse(line)).then((told) => ({ told }), (error) => ({ failed: error.stack }));
    process.stdout.write(`${JSON.stringify(said)}\n`);
  }
}
