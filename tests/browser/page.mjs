// The page of `inspect --html` in a real browser, light and dark, narrow and wide.
//
//   npm install && node page.mjs PATH-OF-TENSORGATE [FOLDER-FOR-PICTURES]
//
// The browser is Chromium: $CHROMIUM, or /usr/bin/chromium.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";
import { smooth } from "./frames.mjs";

const program = path.resolve(process.argv[2] || "target/release/tensorgate");
const pictures = process.argv[3];
const folder = fs.mkdtempSync(path.join(os.tmpdir(), "tensorgate-page-"));
process.on("exit", () => fs.rmSync(folder, { recursive: true, force: true }));

// A safetensors file of the given tensors, each [name, elements of F32], and metadata.
const model = (name, tensors, metadata) => {
  // Put together by hand: a member called __proto__ would vanish from an object.
  const members = metadata ? [`"__metadata__":{${metadata.map((pair) => pair.map((text) => JSON.stringify(text)).join(":"))}}`] : [];
  let at = 0;
  for (const [name, count] of tensors) {
    members.push(`${JSON.stringify(name)}:{"dtype":"F32","shape":[${count}],"data_offsets":[${at},${at + 4 * count}]}`);
    at += 4 * count;
  }
  const json = Buffer.from(`{${members}}`), length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(json.length));
  const data = Buffer.alloc(at);
  for (let place = 0; place < at; place += 4) data.writeFloatLE(Math.sin(place), place);
  const file = path.join(folder, name);
  fs.writeFileSync(file, Buffer.concat([length, json, data]));
  return file;
};
const page = (file, ...more) => {
  const out = path.join(folder, path.basename(file) + ".html");
  try { execFileSync(program, ["inspect", file, "--html", out, ...more], { stdio: "pipe" }); } catch (error) { if (error.status !== 1) throw error; }
  return pathToFileURL(out).href;
};

const evil = ["<img src=x onerror='window.hacked=1'>", "</script><script>window.hacked=2</script>", "javascript:window.hacked=3",
  "${window.hacked=4}", "__proto__", "constructor", "a\u202egnp.exe", "\u0007bell\u001b[31m", "a\u0000b", "'\"><svg onload=window.hacked=5>", "\ud83d\ude00 é 漢", "x".repeat(5000)];
const many = Array.from({ length: 10000 }, (_, at) => [`model.layers.${Math.floor(at / 20)}.part_${at % 20}.weight`, 1 + at % 97]);
const files = {
  few: page(model("few.safetensors", [["wte.weight", 4096], ["h.0.attn.c_attn.weight", 3000], ["h.0.attn.c_attn.bias", 30], ["h.0.mlp.c_fc.weight", 2000], ["ln_f.weight", 16]], [["format", "pt"]]), "--deep"),
  evil: page(model("evil.safetensors", evil.map((name, at) => [name, at + 1]), evil.map((name) => [name, name]))),
  many: page(model("many.safetensors", many)),
};
fs.writeFileSync(path.join(folder, "bad.safetensors"), Buffer.from("40000000000000007b", "hex"));
files.bad = page(path.join(folder, "bad.safetensors"));

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
  await tab.goto(files[name]);
  await tab.waitForSelector("html[data-ready=yes]", { timeout: 20000 });
  await look(tab);
  assert.deepEqual(trouble, [], name);
  assert.deepEqual(requests, [files[name]], `${name}: the page asked for something`);
  assert.equal(await tab.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true, `${name}: wider than the window`);
  if (pictures) await tab.screenshot({ path: path.join(pictures, `${name}-${options.colorScheme}-${options.viewport.width}.png`), fullPage: true });
  await context.close();
  checks++;
};
const colour = (tab) => tab.evaluate(() => getComputedStyle(document.body).backgroundColor.match(/\d+/g).slice(0, 3).map(Number).reduce((a, b) => a + b));

for (const colorScheme of ["light", "dark"]) for (const width of [360, 1280]) {
  const options = { colorScheme, viewport: { width, height: 900 } };
  await open("few", options, async (tab) => {
    assert.equal((await colour(tab)) > 380, colorScheme === "light");
    assert.equal(await tab.locator(".row").count(), 5);
    assert.equal(await tab.textContent("#verdict"), "accepted");
    const painted = (id) => tab.evaluate((id) => { const canvas = document.getElementById(id); const all = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data; const seen = new Set(); for (let at = 0; at < all.length; at += 4) seen.add(all[at] << 16 | all[at + 1] << 8 | all[at + 2]); return seen.size; }, id);
    assert.ok((await painted("tree")) > 2, "the areas are drawn");
    assert.ok((await painted("bytes")) > 2, "the bytes are drawn");
    await tab.fill("#search", "attn bias");
    assert.equal(await tab.locator(".row").count(), 1);
    await tab.click(".row");
    assert.equal(await tab.textContent("#detail-name"), "h.0.attn.c_attn.bias");
    assert.ok((await painted("histogram")) > 1, "the histogram is drawn");
    await tab.fill("#search", "");
    await tab.click("#columns button:nth-child(5)");
    assert.match(await tab.locator(".row").first().textContent(), /^wte\.weight/);
  });
  await open("evil", options, async (tab) => {
    const [hacked, images, scripts] = await tab.evaluate(() => [window.hacked, document.images.length + document.querySelectorAll("svg").length, document.scripts.length]);
    assert.deepEqual([hacked, images, scripts], [undefined, 0, 2]);
    assert.equal(await tab.locator(".row").count(), evil.length);
    const text = await tab.evaluate(() => document.body.innerText);
    for (const raw of ["\u202e", "\u0007", "\u001b", "\u0000"]) assert.ok(!text.includes(raw), escape(raw));
    assert.ok(text.includes("\ud83d\ude00 é 漢"), "what is harmless is shown as it is");
    assert.ok(text.includes("<img src=x onerror") && text.includes("a\\u{202e}gnp.exe"));
  });
  await open("bad", options, async (tab) => {
    assert.equal(await tab.textContent("#verdict"), "rejected");
    assert.match(await tab.textContent("#findings"), /ST-HEADER/);
  });
}
await open("many", { colorScheme: "light", viewport: { width: 1280, height: 900 } }, async (tab) => {
  const ready = await tab.evaluate(() => performance.now());
  assert.ok(ready < 10000, `ready after ${ready} ms`);
  console.log(`10,000 tensors: ready after ${Math.round(ready)} ms, ${await smooth(tab, "scroller")}`);
  assert.match(await tab.locator(".row").last().textContent(), /layers\.499\.part_19/);
  await tab.fill("#search", "layers.321. part_7.");
  assert.equal(await tab.locator(".row").count(), 1);
});
await browser.close();
console.log(`ok      the page: ${checks} views`);
