// node check.mjs MODULE.wasm FILE…: judges files, of which it reads no more than the headers.
// node check.mjs MODULE.wasm --list LIST.json: judges each `{name, hex, limits}` of a list, the header alone and
// the whole, and prints a JSON verdict a line: `{name, way, ok, code, at}`.

import { open, readFile } from "node:fs/promises";
import { Validator, formatOf } from "./validator.mjs";

const [module, first, ...rest] = process.argv.slice(2);
if (!first) {
  console.error("usage: node check.mjs MODULE.wasm FILE… | --list LIST.json");
  process.exit(2);
}
const validator = await Validator.load(await readFile(module));

async function checkFile(name) {
  const format = formatOf(name);
  if (!format) throw new Error("no format has this ending");
  const file = await open(name);
  try {
    const { size } = await file.stat();
    const read = async (count) => {
      const { buffer, bytesRead } = await file.read(new Uint8Array(count), 0, count, 0);
      return buffer.subarray(0, bytesRead);
    };
    return await validator.validate(format, size, read);
  } finally {
    await file.close();
  }
}

async function checkList(path) {
  for (const { name, hex, limits } of JSON.parse(await readFile(path, "utf8"))) {
    const bytes = Buffer.from(hex, "hex");
    // The header alone: what is asked for and no byte more. The whole: all of it at the first question.
    const ways = { header: (count) => bytes.subarray(0, count), whole: () => bytes };
    for (const [way, read] of Object.entries(ways)) {
      const verdict = await validator.validate(formatOf(name), bytes.length, read, { limits, whole: way === "whole" });
      console.log(JSON.stringify({ name, way, ok: verdict.ok, code: verdict.code, at: verdict.at }));
    }
  }
}

if (first === "--list") {
  await checkList(rest[0]);
} else {
  let refused = 0;
  for (const name of [first, ...rest]) {
    const verdict = await checkFile(name).catch((error) => ({ ok: false, text: error.message }));
    refused += verdict.ok ? 0 : 1;
    console.log(`${verdict.ok ? "accepted" : "rejected"}  ${name}${verdict.ok ? "" : `: ${verdict.text}`}`);
  }
  process.exitCode = refused ? 1 : 0;
}
