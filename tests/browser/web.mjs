// The page of examples/web in a real browser: the corpus through it, and what a visitor does, light and dark, narrow and wide.
//
//   ../../examples/web/build && npm install && node web.mjs [FOLDER-FOR-PICTURES]
//
// With QUICK=1 the corpus is left out. The browser is Chromium: $CHROMIUM, or /usr/bin/chromium.
import assert from "node:assert/strict";
import fs from "node:fs";
import http from "node:http";
import os from "node:os";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { chromium } from "playwright-core";
import { smooth } from "./frames.mjs";

const root = fileURLToPath(new URL("../..", import.meta.url));
const site = path.join(root, "examples/web/site");
const corpus = path.join(root, "corpus");
const pictures = process.argv[2];
const folder = fs.mkdtempSync(path.join(os.tmpdir(), "tensorgate-web-"));
process.on("exit", () => fs.rmSync(folder, { recursive: true, force: true }));

const types = { ".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".mjs": "text/javascript", ".wasm": "application/wasm" };
const server = http.createServer((request, answer) => {
  const name = path.basename(request.url === "/" ? "/index.html" : request.url), file = path.join(site, name);
  if (!fs.existsSync(file)) { answer.writeHead(404).end(); return; }
  answer.writeHead(200, { "content-type": types[path.extname(name)] }).end(fs.readFileSync(file));
});
await new Promise((done) => server.listen(0, "127.0.0.1", done));
const home = `http://127.0.0.1:${server.address().port}/`;
const parts = ["", "grid.js", "page.css", "page.js", "tensorgate_wasm.wasm", "text.js", "validator.mjs"].map((name) => home + name);

// --- Files, put together by hand.
const word = (value) => { const bytes = Buffer.alloc(8); bytes.writeBigUInt64LE(BigInt(value)); return bytes; };
const half = (value) => { const bytes = Buffer.alloc(4); bytes.writeUInt32LE(value); return bytes; };
const save = (name, bytes) => { fs.writeFileSync(path.join(folder, name), bytes); return path.join(folder, name); };
// Tensors are [name, shape as text, bytes]; a member called __proto__ would vanish from an object.
const safetensors = (name, tensors, { hole = false } = {}) => {
  let at = 0n;
  const members = tensors.map(([name, shape, bytes]) => `${JSON.stringify(name)}:{"dtype":"U8","shape":${shape},"data_offsets":[${at},${at += BigInt(bytes)}]}`);
  const json = Buffer.from(`{${members}}`), head = Buffer.concat([word(json.length), json]);
  if (!hole) return save(name, Buffer.concat([head, Buffer.alloc(Number(at))]));
  save(name, head);
  fs.truncateSync(path.join(folder, name), head.length + Number(at));
  return path.join(folder, name);
};
const text = (string) => Buffer.concat([word(Buffer.byteLength(string)), Buffer.from(string)]);
// Tensors are [name, dimensions innermost first, type's number, bytes], each a multiple of the alignment.
const gguf = (name, tensors) => {
  let at = 0;
  const infos = tensors.map(([name, dims, type, bytes]) => {
    at += bytes;
    return Buffer.concat([text(name), half(dims.length), ...dims.map(word), half(type), word(at - bytes)]);
  });
  const head = Buffer.concat([Buffer.from("GGUF"), half(3), word(tensors.length), word(0), ...infos]);
  const start = Math.ceil(head.length / 32) * 32;
  return [save(name, Buffer.concat([head, Buffer.alloc(start - head.length + at)])), start];
};
const evil = ["<img src=x onerror='window.hacked=1'>", "</script><script>window.hacked=2</script>", "javascript:window.hacked=3",
  "__proto__", "constructor", "a\u202egnp.exe", "\u0007bell\u001b[31m", "a\u0000b", "'\"><svg onload=window.hacked=5>", "\ufeffmark", "tag\u{e0041}", "\ud83d\ude00 é 漢", "x".repeat(500)];
const many = Array.from({ length: 10000 }, (_, at) => [`model.layers.${Math.floor(at / 20)}.part_${at % 20}.weight`, `[${1 + at % 97}]`, 1 + at % 97]);
const files = {
  few: safetensors("few.safetensors", [["wte.weight", "[2,3]", 6], ["h.0.attn.bias", "[5]", 5], ["scalar", "[]", 1], ["none", "[0,9007199254740993]", 0]]),
  evil: safetensors("evil.safetensors", evil.map((name, at) => [name, `[${at + 1}]`, at + 1])),
  many: safetensors("many.safetensors", many),
  large: safetensors("large.safetensors", [["a", "[20000000000]", 20000000000]], { hole: true }),
  other: save("readme.txt", "no model"),
  crooked: save("<b>\u202e.gguf", "GGUF"),
  index: path.join(corpus, "sets/agree/escaped/model.safetensors.index.json"),
};
const [quantised, quantisedStart] = gguf("quantised.gguf", [["norm", [8], 0, 32], ["weight", [256, 4], 12, 576]]);

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM || "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync", "--disable-component-update", "--no-first-run"] });
let checks = 0;
const open = async (name, options, look) => {
  const context = await browser.newContext(options), tab = await context.newPage();
  const trouble = [], requests = [];
  tab.on("console", (message) => trouble.push(message.text()));
  tab.on("pageerror", (error) => trouble.push(String(error)));
  tab.on("dialog", (dialog) => { trouble.push("a dialog"); dialog.dismiss(); });
  tab.on("request", (request) => requests.push(request.url()));
  await tab.goto(home);
  await tab.waitForSelector("html[data-ready=yes]", { timeout: 20000 });
  // From here on there is no network, and nothing misses it.
  await context.setOffline(true);
  await look(tab);
  assert.deepEqual(trouble, [], name);
  assert.deepEqual(requests.sort(), parts, `${name}: the page asked for something else`);
  assert.equal(await tab.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true, `${name}: wider than the window`);
  if (pictures) await tab.screenshot({ path: path.join(pictures, `web-${name}-${options.colorScheme}-${options.viewport.width}.png`), fullPage: true });
  await context.close();
  checks++;
};
const judged = (tab) => tab.waitForSelector("html[data-busy=no]", { timeout: 60000 });
const give = async (tab, ...list) => { await tab.setInputFiles("#files", list); await judged(tab); };
/** The cells of every row of a table, for which it has to be scrolled through. */
const cells = (tab, id) => tab.evaluate(async (id) => {
  const box = document.getElementById(id), all = [];
  for (let top = 0; ; top += box.clientHeight / 2) {
    box.scrollTop = top;
    await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    for (const row of box.querySelectorAll(".row")) all[row.getAttribute("aria-rowindex") - 2] = [...row.children].map((cell) => cell.textContent);
    if (top >= box.scrollHeight - box.clientHeight) return all;
  }
}, id);
const listOf = (tab, id) => tab.$eval(id, (list) => Object.fromEntries([...list.children].map((pair) => [...pair.children].map((node) => node.textContent))));
const wide = { colorScheme: "light", viewport: { width: 1280, height: 900 } };

const rows = fs.readFileSync(path.join(corpus, "MANIFEST.tsv"), "utf8").trim().split("\n").slice(1).map((line) => line.split("\t"));
assert.ok(rows.length > 900);

// --- What the module lists of every file that is accepted, against a reading that trusts the file.
const { Validator, formatOf } = await import(pathToFileURL(path.join(site, "validator.mjs")));
const validator = await Validator.load(fs.readFileSync(path.join(site, "tensorgate_wasm.wasm")));
const TYPES = [["F32", 1, 4], ["F16", 1, 2], ["Q4_0", 32, 18], ["Q4_1", 32, 20], , , ["Q5_0", 32, 22], ["Q5_1", 32, 24], ["Q8_0", 32, 34]];
const trusted = {
  safetensors: (bytes) => {
    const length = Number(bytes.readBigUInt64LE(0)), json = bytes.toString("utf8", 8, 8 + length);
    // Numbers of more digits than a double holds are kept as texts.
    const exact = json.replace(/("(?:[^"\\]|\\.)*")|(\d{16,})/g, (_, text, digits) => text ?? `"${digits}"`);
    return Object.entries(JSON.parse(exact)).filter(([name]) => name !== "__metadata__").map(([name, { dtype, shape, data_offsets: [from, to] }]) =>
      ({ name, kind: dtype, shape: shape.map(BigInt), offset: BigInt(from) + BigInt(8 + length), bytes: BigInt(to) - BigInt(from) }));
  },
  index: (bytes) => Object.entries(JSON.parse(bytes).weight_map).map(([name, shard]) => ({ name, shard })),
  gguf: (bytes) => {
    const big = bytes[4] === 0;
    let at = 24, alignment = 32n;
    const u32 = (place) => (big ? bytes.readUInt32BE(place) : bytes.readUInt32LE(place));
    const u64 = (place) => (big ? bytes.readBigUInt64BE(place) : bytes.readBigUInt64LE(place));
    const int = () => u32((at += 4) - 4), long = () => u64((at += 8) - 8);
    const text = () => { const length = Number(long()); return bytes.toString("utf8", at, at += length); };
    const skip = (type) => {
      if (type === 8) text();
      else if (type === 9) { const of = int(); for (let left = long(); left > 0n; left--) skip(of); }
      else at += [1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8][type];
    };
    const count = Number(u64(8));
    for (let left = u64(16); left > 0n; left--) {
      const key = text(), type = int();
      if (key === "general.alignment") alignment = BigInt(u32(at));
      skip(type);
    }
    const infos = Array.from({ length: count }, () => ({ name: text(), shape: Array.from({ length: int() }, long).reverse(), type: int(), offset: long() }));
    const start = (BigInt(at) + alignment - 1n) / alignment * alignment;
    return infos.map(({ name, shape, type, offset }) => {
      const [kind, block, size] = TYPES[type] ?? [];
      return { name, kind, shape, offset: start + offset, bytes: kind && shape.reduce((all, dim) => all * dim, 1n) / BigInt(block) * BigInt(size) };
    });
  },
};
const inOrder = (list) => list.toSorted((a, b) => (a.name < b.name ? -1 : 1));
const compared = { safetensors: 0, index: 0, gguf: 0 };
for (const [name] of [...rows, ...Object.values(files).concat(quantised).filter((file) => file !== files.large && file !== files.index).map((file) => [file])]) {
  const file = path.resolve(corpus, name), format = formatOf(name);
  if (!format) continue;
  const bytes = fs.readFileSync(file), { ok, list } = await validator.validate(format, bytes.length, (count) => bytes.subarray(0, count), { list: true });
  if (!ok) continue;
  const want = inOrder(trusted[format](bytes)), got = inOrder(list);
  // Of the types that are not in the list above, all but what they are and take.
  got.forEach((tensor, at) => { if (format === "gguf" && !want[at]?.kind) Object.assign(tensor, { kind: undefined, bytes: undefined }); });
  assert.deepEqual(got, want, name);
  compared[format]++;
}
assert.ok(compared.safetensors > 100 && compared.index > 20 && compared.gguf > 60, JSON.stringify(compared));
console.log(`the tensors of ${compared.safetensors} safetensors, ${compared.gguf} GGUF and ${compared.index} index files are listed as they are`);

// --- The corpus: the verdict of every file, from its header alone and, where that is a setting, from the whole.
const groups = new Map();
for (const row of rows) groups.set(row[7], [...(groups.get(row[7]) ?? []), row]);
for (const whole of process.env.QUICK ? [] : [false, true]) {
  let seen = 0, unseen = 0;
  await open(whole ? "corpus-whole" : "corpus", wide, async (tab) => {
    await tab.click("summary");
    await tab.setChecked("#whole", whole);
    for (const [limit, group] of groups) {
      await tab.fill("#limits", limit === "-" ? "" : limit);
      await tab.dispatchEvent("#limits", "change");
      for (let from = 0; from < group.length; from += 100) {
        const batch = group.slice(from, from + 100);
        await give(tab, ...batch.map(([name]) => path.join(corpus, name)));
        const got = await cells(tab, "files-grid");
        assert.equal(got.length, batch.length);
        batch.forEach(([name, , verdict, code, offset], at) => {
          // An index in a set, and what is odd in the data, are faults of no file's header.
          let want = verdict === "rejected" ? ["rejected", code, offset] : ["accepted", "", ""];
          const [said, file, saidCode, at_] = got[at];
          // Padding may lie behind the bytes that the header took.
          if (!whole && code === "GG-PADDING-NONZERO" && said === "accepted") { want = ["accepted", "", ""]; unseen++; }
          assert.deepEqual([said, saidCode, at_.replaceAll(",", "")], want, `${name} with ${limit}`);
          assert.equal(file, path.basename(name));
          seen++;
        });
        await tab.click("#clear");
      }
    }
    await give(tab, ...rows.filter(([name]) => name.startsWith("reject/")).slice(0, 30).map(([name]) => path.join(corpus, name)));
  });
  assert.equal(seen, rows.length);
  console.log(`${seen} files of the corpus as the manifest has them${unseen ? `, but for ${unseen} whose fault is in padding` : ""}`);
}

for (const colorScheme of ["light", "dark"]) for (const width of [360, 1280]) {
  const options = { colorScheme, viewport: { width, height: 900 } };
  await open("few", options, async (tab) => {
    const shade = await tab.evaluate(() => getComputedStyle(document.body).backgroundColor.match(/\d+/g).slice(0, 3).map(Number).reduce((a, b) => a + b));
    assert.equal(shade > 380, colorScheme === "light");
    await give(tab, files.few);
    assert.equal(await tab.textContent("#summary"), "1 file: 1 accepted, 0 rejected");
    const start = fs.statSync(files.few).size - 12;
    assert.deepEqual(await cells(tab, "tensors-grid"), [["wte.weight", "U8", "[2, 3]", start, "6 B"], ["h.0.attn.bias", "U8", "[5]", start + 6, "5 B"], ["scalar", "U8", "[]", start + 11, "1 B"],
      ["none", "U8", "[0, 9007199254740993]", start + 12, "0 B"]].map((row) => row.map(String)));
    assert.deepEqual(await listOf(tab, "#facts"), { format: "safetensors", size: `${start + 12} B`, read: `${start} B`, tensors: "4", types: "U8 ×4" });
    await tab.fill("#search", "attn u8");
    assert.equal(await tab.locator("#tensors-grid .row").count(), 1);
    await tab.fill("#search", "");
    await tab.click("#tensors-grid .columns button:nth-child(5)");
    assert.match(await tab.locator("#tensors-grid .row").first().textContent(), /^wte\.weight/);
    await tab.click("#tensors-grid .columns button:nth-child(5)");
    assert.match(await tab.locator("#tensors-grid .row").first().textContent(), /^none/);
    await tab.focus("#tensors-grid");
    await tab.keyboard.press("ArrowDown");
    await tab.keyboard.press("ArrowDown");
    assert.deepEqual(await listOf(tab, "#detail-facts"), { type: "U8", shape: "[]", elements: "1", offset: String(start + 11), bytes: "1" });
  });
  await open("evil", options, async (tab) => {
    await give(tab, files.crooked, files.evil);
    await tab.click("#files-grid .row:nth-child(2)");
    await tab.waitForFunction((count) => document.querySelectorAll("#tensors-grid .row").length === count, evil.length);
    const [hacked, elements, scripts] = await tab.evaluate(() => [window.hacked, document.querySelectorAll("img, svg, b").length, document.scripts.length]);
    assert.deepEqual([hacked, elements, scripts], [undefined, 0, 1]);
    const names = (await cells(tab, "tensors-grid")).map(([name]) => name);
    const shown = new Map([["a\u202egnp.exe", "a\\u{202e}gnp.exe"], ["\u0007bell\u001b[31m", "\\u{7}bell\\u{1b}[31m"], ["a\u0000b", "a\\u{0}b"],
      ["\ufeffmark", "\\u{feff}mark"], ["tag\u{e0041}", "tag\\u{e0041}"], ["x".repeat(500), `${"x".repeat(300)}…`]]);
    assert.deepEqual(names, evil.map((name) => shown.get(name) ?? name));
    for (const place of await tab.locator("#tensors-grid .row").all()) await place.click();
    assert.equal(await tab.textContent("#detail-name"), evil.at(-1));
    assert.equal((await cells(tab, "files-grid"))[0][1], "<b>\\u{202e}.gguf");
    const text = await tab.evaluate(() => document.body.innerText + document.body.textContent);
    for (const raw of ["\u202e", "\u0007", "\u001b", "\u0000", "\ufeff"]) assert.ok(!text.includes(raw), escape(raw));
  });
  await open("index", options, async (tab) => {
    await give(tab, files.index);
    const index = JSON.parse(fs.readFileSync(files.index, "utf8")).weight_map;
    assert.deepEqual((await cells(tab, "tensors-grid")).sort(), Object.entries(index).sort());
    const shards = [...new Set(Object.values(index))];
    assert.deepEqual((await cells(tab, "shards-grid")).map(([name]) => name).sort(), shards.sort());
    await tab.click("#shards-grid .row");
    const found = await tab.locator("#tensors-grid .row").count();
    assert.ok(found > 0 && found < Object.keys(index).length);
  });
}
await open("gguf", wide, async (tab) => {
  await give(tab, quantised);
  assert.deepEqual(await cells(tab, "tensors-grid"), [["norm", "F32", "[8]", String(quantisedStart), "32 B"], ["weight", "Q4_K", "[4, 256]", String(quantisedStart + 32), "576 B"]]);
  assert.match(await tab.textContent("#words"), /nor the padding/);
  await tab.click("summary");
  await tab.setChecked("#whole", true);
  await judged(tab);
  await tab.waitForFunction(() => !document.getElementById("words").textContent.includes("padding"));
});
await open("large", wide, async (tab) => {
  const before = performance.now(), head = fs.statSync(files.large).size - 20000000000;
  await give(tab, files.large);
  const { size, read } = await listOf(tab, "#facts");
  assert.deepEqual([await tab.textContent("#verdict"), size, read], ["accepted", "18.6 GiB", `${head} B`]);
  assert.deepEqual(await cells(tab, "tensors-grid"), [["a", "U8", "[20000000000]", String(head), "18.6 GiB"]]);
  console.log(`a file of 20 GB: accepted after ${Math.round(performance.now() - before)} ms, ${head} bytes read`);
  // Cut short, and given again: another verdict.
  fs.truncateSync(files.large, 100);
  await give(tab, files.large);
  assert.deepEqual((await cells(tab, "files-grid")).map(([verdict]) => verdict), ["accepted", "rejected"]);
  // The one that was changed behind its back can be read no longer.
  await tab.click("#files-grid .row:nth-child(1)");
  await tab.waitForFunction(() => document.getElementById("verdict").textContent === "not judged");
});
await open("settings", wide, async (tab) => {
  await give(tab, files.other, files.few);
  assert.equal(await tab.textContent("#summary"), "2 files: 1 accepted, 0 rejected, 1 not judged");
  assert.match(await tab.textContent("#words"), /^Its name ends in none of/);
  await tab.click("#files-grid .row:nth-child(2)");
  await tab.click("summary");
  const limit = async (text) => { await tab.fill("#limits", text); await tab.dispatchEvent("#limits", "change"); await judged(tab); return (await cells(tab, "files-grid"))[1].slice(0, 1).concat((await cells(tab, "files-grid"))[1][2]); };
  assert.deepEqual(await limit("tensors=3"), ["rejected", "ST-LIMIT-TENSORS"]);
  assert.deepEqual(await limit("rank=1, tensors=4"), ["rejected", "ST-LIMIT-RANK"]);
  assert.deepEqual(await limit("tensors=4 nonsense=1"), ["rejected", "ST-LIMIT-RANK"]);
  assert.match(await tab.textContent("#limits-fault"), /nonsense=1/);
  assert.deepEqual(await limit("tensors=4"), ["accepted", ""]);
  // Files that are dropped, and a folder, of which only models are taken.
  await tab.click("#clear");
  const data = await tab.evaluateHandle((bytes) => {
    const transfer = new DataTransfer();
    transfer.items.add(new File([new Uint8Array(bytes)], "dropped.safetensors"));
    return transfer;
  }, [...fs.readFileSync(files.few)]);
  await tab.dispatchEvent("body", "drop", { dataTransfer: data });
  await judged(tab);
  assert.deepEqual((await cells(tab, "files-grid")).map(([verdict, name]) => [verdict, name]), [["accepted", "dropped.safetensors"]]);
  await tab.click("#clear");
  await tab.setInputFiles("#folder", path.join(corpus, "sets/agree/escaped"));
  await judged(tab);
  const names = (await cells(tab, "files-grid")).map(([, name]) => name).sort();
  assert.deepEqual(names, fs.readdirSync(path.join(corpus, "sets/agree/escaped")).map((name) => `escaped/${name}`).sort());
});
await open("many", wide, async (tab) => {
  const before = performance.now();
  await give(tab, files.many);
  await tab.waitForSelector("#tensors-grid .row");
  const ready = performance.now() - before;
  assert.ok(ready < 10000, `shown after ${ready} ms`);
  console.log(`10,000 tensors: shown after ${Math.round(ready)} ms, ${await smooth(tab, "tensors-grid")}`);
  assert.match(await tab.locator("#tensors-grid .row").last().textContent(), /layers\.499\.part_19/);
  await tab.fill("#search", "layers.321. part_7.");
  assert.equal(await tab.locator("#tensors-grid .row").count(), 1);
});
{
  // What the policy keeps out, and what is said where a part is missing.
  const context = await browser.newContext(), tab = await context.newPage();
  await context.route("**/*.wasm", (route) => route.fulfill({ status: 404 }));
  await tab.goto(home);
  await tab.waitForFunction(() => document.getElementById("trouble").textContent.includes("the server answered 404"));
  assert.equal(await tab.isVisible("main"), false);
  const kept = await tab.evaluate(async () => {
    const broken = [];
    addEventListener("securitypolicyviolation", (event) => broken.push(event.effectiveDirective));
    const script = document.createElement("script");
    script.textContent = "window.hacked = 1";
    document.body.append(script);
    document.body.append(Object.assign(document.createElement("img"), { src: "http://127.0.0.2/x.png" }));
    await fetch("http://127.0.0.2/").catch(() => {});
    await new Promise((done) => setTimeout(done, 200));
    return [window.hacked, broken.sort()];
  });
  assert.deepEqual(kept, [undefined, ["connect-src", "img-src", "script-src-elem"]]);
  await context.close();
  checks++;
}
await browser.close();
server.close();
console.log(`ok      the page: ${checks} views`);
