// Judges files that are chosen or dropped, one after the other, and shows what the module says of each.

import { Grid } from "./grid.js";
import { facts, num, safe, short, size } from "./text.js";
import { LIMITS, Validator, formatOf } from "./validator.mjs";

const $ = (id) => document.getElementById(id);
const FORMATS = { safetensors: "safetensors", gguf: "GGUF", index: "sharded index" };

/** What was chosen: `{file, name, format, verdict}`; the verdict comes later. */
let items = [];
let chosen = null;
let validator;
let settings = { whole: false, limits: {} };
/** Counts what makes all that is under way out of date. */
let round = 0;
let showing = 0;

// --- The verdicts.

const read = (file) => async (count) => new Uint8Array(await file.slice(0, count).arrayBuffer());

async function judge({ file, format }, list) {
  if (!format) return { unjudged: "Its name ends in none of .safetensors, .gguf and .index.json." };
  const whole = settings.whole && format === "gguf";
  try {
    return await validator.validate(format, file.size, read(file), { limits: settings.limits, whole, list });
  } catch (error) {
    const unreadable = ["NotReadableError", "NotFoundError"].includes(error.name);
    return { unjudged: unreadable ? "It cannot be read: it is a folder, or was changed or removed since." : error.message };
  }
}

const word = ({ verdict }) => (!verdict ? "…" : verdict.unjudged ? "not judged" : verdict.ok ? "accepted" : "rejected");
const kind = ({ verdict }) => (!verdict ? "" : verdict.unjudged ? "unjudged" : verdict.ok ? "accepted" : "rejected");

const files = new Grid($("files-grid"), "Files", [
  { label: "Verdict", text: word, key: word, kind },
  { label: "File", text: (item) => short(item.name, 200), key: (item) => item.name },
  { label: "Code", text: (item) => item.verdict?.code ?? "", key: (item) => item.verdict?.code ?? "" },
  { label: "At byte", text: (item) => (item.verdict?.code ? num(item.verdict.at) : ""), key: (item) => item.verdict?.at ?? -1, n: true },
  { label: "Size", text: (item) => size(item.file.size), key: (item) => item.file.size, n: true },
], (item) => open(item));

function summarise() {
  const count = (of) => items.filter((item) => word(item) === of).length;
  const [waiting, accepted, rejected, unjudged] = ["…", "accepted", "rejected", "not judged"].map(count);
  const parts = [`${num(items.length)} ${items.length === 1 ? "file" : "files"}: ${num(accepted)} accepted`, `${num(rejected)} rejected`];
  if (unjudged) parts.push(`${num(unjudged)} not judged`);
  if (waiting) parts.push(`${num(waiting)} to go`);
  $("summary").textContent = parts.join(", ");
  $("files-part").hidden = !items.length;
  $("file-part").hidden = !chosen;
  files.show(items, { stay: true });
  document.documentElement.dataset.busy = waiting ? "yes" : "no";
}

/** Judges all that has no verdict yet. */
async function run() {
  const mine = ++round;
  let shown = 0;
  summarise();
  for (const item of items) {
    if (item.verdict) continue;
    const verdict = await judge(item, false);
    if (mine !== round) return;
    item.verdict = verdict;
    if (!chosen) await open(item);
    if (mine !== round) return;
    const now = performance.now();
    if (now - shown > 200) { summarise(); shown = now; }
  }
  summarise();
}

function add(list) {
  const more = [...list].map((file) => {
    const name = file.webkitRelativePath || file.name;
    return { file, name, format: formatOf(file.name) };
  });
  // Of a folder, what is no model is of no interest.
  items = items.concat(more.filter((item) => item.format || !item.file.webkitRelativePath));
  run();
}

function again() {
  for (const item of items) item.verdict = undefined;
  if (chosen) open(chosen);
  run();
}

// --- One file.

const shape = (tensor) => `[${tensor.shape.join(", ")}]`;
const tensorColumns = [
  { label: "Name", text: (tensor) => short(tensor.name, 300), key: (tensor) => tensor.name },
  { label: "Type", text: (tensor) => tensor.kind, key: (tensor) => tensor.kind },
  { label: "Shape", text: (tensor) => short(shape(tensor), 100), key: (tensor) => tensor.shape.reduce((all, dim) => all * dim, 1n) },
  { label: "Offset", text: (tensor) => num(tensor.offset), key: (tensor) => tensor.offset, n: true },
  { label: "Bytes", text: (tensor) => size(tensor.bytes), key: (tensor) => tensor.bytes, n: true },
];
const entryColumns = [
  { label: "Name", text: (entry) => short(entry.name, 300), key: (entry) => entry.name },
  { label: "Shard", text: (entry) => short(entry.shard, 300), key: (entry) => entry.shard },
];
let listed = [];
const tensors = new Grid($("tensors-grid"), "Tensors", tensorColumns, detail);
const shards = new Grid($("shards-grid"), "Shards", [
  { label: "Shard", text: ([name]) => short(name, 300), key: ([name]) => name },
  { label: "Tensors", text: ([, count]) => num(count), key: ([, count]) => count, n: true },
], ([name]) => { $("search").value = safe(name); search(); });

function detail(tensor) {
  $("detail").hidden = false;
  $("detail-name").textContent = safe(short(tensor.name, 100000));
  facts($("detail-facts"), tensor.shard !== undefined ? [["shard", tensor.shard]] : [["type", tensor.kind], ["shape", shape(tensor)],
    ["elements", num(tensor.shape.reduce((all, dim) => all * dim, 1n))], ["offset", num(tensor.offset)], ["bytes", num(tensor.bytes)]]);
}

function search() {
  const words = $("search").value.toLowerCase().split(/\s+/).filter(Boolean);
  const found = words.length ? listed.filter((tensor) => {
    const text = (tensor.shard !== undefined ? `${tensor.name} ${tensor.shard}` : `${tensor.name} ${tensor.kind} ${shape(tensor)}`);
    // What is shown can be searched too.
    const both = `${text} ${safe(text)}`.toLowerCase();
    return words.every((word) => both.includes(word));
  }) : listed;
  const bytes = found.reduce((sum, tensor) => sum + (tensor.bytes ?? 0n), 0n);
  const rest = found.length > Grid.most ? `; the table shows the first ${num(Grid.most)}, search finds the others` : "";
  $("shown").textContent = `${num(found.length)} of ${num(listed.length)}${bytes ? `, ${size(bytes)}` : ""}${rest}`;
  $("detail").hidden = true;
  tensors.choose(null);
  tensors.show(found);
}

/** How many there are of each, most first. */
const counted = (values) => {
  const counts = new Map();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return [...counts].sort(([, a], [, b]) => b - a);
};

async function open(item) {
  const mine = ++showing;
  chosen = item;
  files.choose(item);
  // Tensors are kept of one file only, and so the file is judged again.
  const verdict = await judge(item, true);
  if (mine !== showing) return;
  item.verdict = verdict;
  $("file-name").textContent = safe(short(item.name, 4000));
  $("verdict").textContent = word(item);
  $("verdict").className = kind(item);
  $("words").textContent = safe(verdict.unjudged ? verdict.unjudged : verdict.ok ? said(item, verdict) : verdict.text);
  listed = verdict.list ?? [];
  const isIndex = item.format === "index" && verdict.ok;
  const kinds = isIndex ? counted(listed.map((entry) => entry.shard)) : counted(listed.map((tensor) => tensor.kind));
  facts($("facts"), [["format", FORMATS[item.format]], ["code", verdict.code], ["at byte", verdict.code && num(verdict.at)], ["size", size(item.file.size)],
    ["read", verdict.read === undefined ? undefined : size(verdict.read)], ["tensors", verdict.ok ? num(verdict.tensors) : undefined],
    ["types", isIndex || !kinds.length ? undefined : kinds.map(([name, count]) => `${name} ×${num(count)}`).join(", ")], ["shards", isIndex ? num(kinds.length) : undefined]]);
  $("file-part").hidden = false;
  $("tensors-part").hidden = !listed.length;
  $("shards-part").hidden = !isIndex || !kinds.length;
  $("tensors-grid").classList.toggle("index", isIndex);
  tensors.columns(isIndex ? entryColumns : tensorColumns);
  shards.show(isIndex ? kinds : []);
  $("search").value = "";
  search();
  summarise();
}

function said({ format, file }, { read }) {
  if (format === "index") return "The index is sound by itself; its shards are files of their own.";
  const data = "Values were not looked at";
  const padding = format === "gguf" && read < file.size ? ", nor the padding between tensors (see Settings)" : "";
  return `Every claim of its header holds against the file's length. ${data}${padding}.`;
}

// --- What is done to the page.

function limits() {
  const pairs = $("limits").value.split(/[\s,]+/).filter(Boolean).map((pair) => pair.split("="));
  const wrong = pairs.find(([name, most, ...more]) => !LIMITS.includes(name) || !/^\d{1,15}$/.test(most ?? "") || more.length);
  $("limits-fault").textContent = wrong ? `not a limit: ${safe(short(wrong.join("="), 60))}` : "";
  if (wrong) return;
  const limits = Object.fromEntries(pairs.map(([name, most]) => [name, Number(most)]));
  if (JSON.stringify(limits) === JSON.stringify(settings.limits)) return;
  settings = { ...settings, limits };
  again();
}

function listen() {
  for (const id of ["files", "folder"]) {
    // Emptied, so that the same file can be chosen again after it was changed.
    $(id).addEventListener("change", (event) => { add(event.target.files); event.target.value = ""; });
  }
  $("whole").addEventListener("change", (event) => { settings = { ...settings, whole: event.target.checked }; again(); });
  $("limits").addEventListener("change", limits);
  $("search").addEventListener("input", search);
  $("clear").addEventListener("click", () => { items = []; chosen = null; showing++; listed = []; tensors.show([]); run(); });
  let inside = 0;
  const over = (change) => { inside = Math.max(0, change ? inside + change : 0); document.body.classList.toggle("over", inside > 0); };
  addEventListener("dragenter", (event) => { event.preventDefault(); over(1); });
  addEventListener("dragleave", () => over(-1));
  addEventListener("dragover", (event) => event.preventDefault());
  addEventListener("drop", (event) => { event.preventDefault(); over(0); add(event.dataTransfer.files); });
}

try {
  const answer = await fetch("tensorgate_wasm.wasm");
  if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
  validator = await Validator.load(await answer.arrayBuffer());
  $("limit-names").textContent = LIMITS.join(", ");
  listen();
  $("trouble").hidden = true;
  document.querySelector("main").hidden = false;
  document.documentElement.dataset.ready = "yes";
} catch (error) {
  $("trouble").textContent = safe(`The validator could not be loaded: ${error.message}`);
}
