
"use strict";
// Everything that the file says is put on the page as text or drawn; nothing of it is ever read as markup.
(() => {
const ROW = 26, LONGEST = 300000;
const $ = (id) => document.getElementById(id);
// Integers that a double cannot hold stay exact where the browser gives their source.
const exact = (_, value, context) => typeof value === "number" && !Number.isSafeInteger(value) &&
  Number.isInteger(value) && context && context.source && /^-?\d+$/.test(context.source) ? BigInt(context.source) : value;
const data = JSON.parse($("data").textContent, exact);
// What would break lines, hide itself or turn the reading direction is shown as its code.
const odd = /[\u0000-\u001f\u007f-\u00a0\u00ad\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202f\u205f-\u206f\u3000\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\uffff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]|\udb40[\udc00-\udfff]/g;
const safe = (text) => String(text).replace(odd, (c) => "\\u{" + c.codePointAt(0).toString(16) + "}");
const short = (text, most) => text.length > most ? text.slice(0, most) + "…" : text;
const make = (tag, text, kind) => {
  const node = document.createElement(tag);
  if (text !== undefined) node.textContent = safe(text);
  if (kind) node.className = kind;
  return node;
};
const num = (value) => typeof value === "bigint" ? value.toLocaleString("en") : Number(value).toLocaleString("en");
const size = (bytes) => {
  let value = Number(bytes), unit = 0;
  for (; value >= 1000 && unit < 6; unit++) value /= 1024;
  return unit ? value.toFixed(value < 10 ? 2 : 1) + " " + ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"][unit] : num(bytes) + " B";
};
const brief = (value) => value === 0 ? "0" : Math.abs(value) >= 1e5 || Math.abs(value) < 1e-3 ? value.toExponential(2) : String(+value.toPrecision(4));
const fact = (list, name, value) => {
  const pair = make("div");
  pair.append(make("dt", name), make("dd", value));
  list.append(pair);
};
const show = (id) => { $(id).hidden = false; };
const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const dark = matchMedia("(prefers-color-scheme: dark)");

// --- The tensors, one shape whatever the format.
const tensors = (data.tensors || []).map((tensor, at) => {
  const kind = tensor.dtype || tensor.type || "";
  const shape = tensor.shape ? "[" + tensor.shape.map(String).join(", ") + "]" : "";
  return { at, name: safe(tensor.name), kind: safe(kind), shape, shard: tensor.shard === undefined ? "" : safe(tensor.shard), values: (data.values || [])[at] || null,
    elements: tensor.parameters, bytes: tensor.bytes, offset: tensor.offset,
    area: Number(tensor.bytes || 0), start: Number(tensor.offset || 0) };
});
const kinds = [...new Set(tensors.map((tensor) => tensor.kind))];
const hue = new Map(kinds.map((kind, at) => [kind, (210 + at * 137.5) % 360]));
const colour = (kind, shade) => `hsl(${hue.get(kind) || 0} ${dark.matches ? 42 : 52}% ${(dark.matches ? 42 : 62) + (shade || 0)}%)`;

// --- Head, findings, types, metadata.
const title = data.path === undefined ? "a file" : data.path;
$("title").textContent = safe(title);
document.title = short(safe(title), 80) + " – tensorgate";
$("verdict").textContent = safe(data.verdict || "");
$("verdict").className = ["accepted", "rejected", "unreadable"].includes(data.verdict) ? data.verdict : "";
for (const [key, name, how] of [["format", "format", String], ["version", "version", String], ["byte_order", "byte order", String],
  ["architecture", "architecture", String], ["size", "size", size], ["data_start", "data begins at byte", num],
  ["parameters", "elements", num], ["data_bytes", "data", size], ["total_size", "total_size", num]]) {
  if (data[key] !== undefined && data[key] !== null) fact($("facts"), name, how(data[key]));
}
if (data.tensors) fact($("facts"), "tensors", num(tensors.length));
for (const [key, value] of Object.entries(data.model || {})) fact($("facts"), key, num(value));
const findings = [...(data.findings || [])];
if (data.code) findings.unshift({ severity: "error", code: data.code, offset: data.offset, message: data.message + " " + (data.advice || "") });
for (const found of findings) {
  const item = make("li");
  const at = found.offset === null || found.offset === undefined ? "" : ` at byte ${num(found.offset)}`;
  item.append(make("strong", `${found.severity} ${found.code}`, ["error", "warning", "note"].includes(found.severity) ? found.severity : ""),
    document.createTextNode(safe(`${at}: ${found.message}`)));
  $("findings").append(item);
  show("findings-part");
}
const total = tensors.reduce((sum, tensor) => sum + tensor.area, 0);
const bars = [];
for (const row of data.dtypes || data.types || []) {
  const kind = row.dtype || row.type, share = total ? Number(row.bytes) / total : 0, line = make("tr"), cell = make("td"), bar = make("span", "", "bar");
  bar.style.width = Math.max(share * 100, 0.5) + "%";
  bars.push([bar, kind]);
  cell.append(bar);
  line.append(make("td", kind), make("td", num(row.tensors), "n"), make("td", num(row.parameters), "n"), make("td", size(row.bytes), "n"),
    make("td", (share * 100).toFixed(1) + " %", "n"), cell);
  $("kinds").tBodies[0].append(line);
  show("kinds-part");
}
const clipped = (text) => {
  const cell = make("td"), most = 200;
  text = String(text);
  if (text.length <= most) { cell.textContent = safe(text); return cell; }
  const more = make("details"), head = make("summary", short(text, most) + ` (${num(text.length)} characters)`);
  more.append(head);
  more.addEventListener("toggle", () => { if (more.open && more.childNodes.length === 1) more.append(make("div", short(text, 100000))); });
  cell.append(more);
  return cell;
};
const pairs = Array.isArray(data.metadata) ? data.metadata : Object.entries(data.metadata || {}).map(([key, value]) => ({ key, value, type: "string" }));
for (const pair of pairs.slice(0, 5000)) {
  const line = make("tr"), list = Array.isArray(pair.value);
  const text = list ? `${num(pair.value.length)} of ${pair.element_type}: ` + pair.value.slice(0, 200).map((value) => Array.isArray(value) ? `[${value.length}]` : String(value)).join(", ") + (pair.value.length > 200 ? ", …" : "") : pair.value;
  line.append(clipped(pair.key), make("td", pair.type), clipped(text));
  $("metadata").tBodies[0].append(line);
  show("metadata-part");
}
for (const shard of data.shards || []) {
  const line = make("tr");
  line.append(make("td", shard.name), make("td", shard.tensors === null ? "" : num(shard.tensors), "n"), make("td", shard.bytes === null ? "not there" : size(shard.bytes), "n"));
  $("shards").tBodies[0].append(line);
  show("shards-part");
}

// --- The table: only the rows that can be seen are there.
const columns = [["name", "Name"], ["kind", "Type"], ["shape", "Shape"], ["elements", "Elements", "n"], ["bytes", "Bytes", "n"], ["offset", "Offset", "n"], ["values", data.values ? "Values" : ""]];
let order = tensors, sorted = { key: "at", down: false }, chosen = null;
const rows = new Map();
const compare = (a, b) => typeof a === "string" && typeof b === "string" ? (a < b ? -1 : a > b ? 1 : 0) : Number(a || 0) - Number(b || 0);
const refresh = () => {
  for (const row of rows.values()) row.remove();
  rows.clear();
  paint();
};
const arrange = () => {
  const words = $("search").value.toLowerCase().split(/\s+/).filter(Boolean);
  order = words.length ? tensors.filter((tensor) => {
    const text = (tensor.name + " " + tensor.kind + " " + tensor.shape + " " + tensor.shard).toLowerCase();
    return words.every((word) => text.includes(word));
  }) : tensors.slice();
  if (sorted.key !== "at") order.sort((a, b) => (sorted.down ? -1 : 1) * compare(a[sorted.key], b[sorted.key]) || a.at - b.at);
  // A browser's longest element is some ten million pixels.
  const rest = order.length > LONGEST ? `; the table shows the first ${num(LONGEST)}, search finds the others` : "";
  $("shown").textContent = `${num(order.length)} of ${num(tensors.length)}, ${size(order.reduce((sum, tensor) => sum + tensor.area, 0))}${rest}`;
  $("space").style.height = Math.min(order.length, LONGEST) * ROW + "px";
  refresh();
};
const spark = (canvas, values) => {
  const pen = ready(canvas);
  if (!pen || !values || !values.bins) return;
  const { width, height } = canvas.getBoundingClientRect(), most = Math.max(1, ...values.bins);
  pen.fillStyle = style("--mark");
  values.bins.forEach((count, at) => {
    const tall = count ? Math.max(1, height * Math.sqrt(count / most)) : 0;
    pen.fillRect(at * width / values.bins.length, height - tall, Math.max(1, width / values.bins.length - 0.5), tall);
  });
};
const paint = () => {
  const box = $("scroller"), first = Math.max(0, Math.floor(box.scrollTop / ROW) - 10), last = Math.min(order.length, LONGEST, first + Math.ceil(box.clientHeight / ROW) + 20);
  for (const [at, row] of rows) if (at < first || at >= last) { row.remove(); rows.delete(at); }
  for (let at = first; at < last; at++) {
    if (rows.has(at)) continue;
    const tensor = order[at], row = make("div", undefined, tensor === chosen ? "row chosen" : "row");
    row.setAttribute("role", "row");
    row.style.top = at * ROW + "px";
    const cell = (text, kind) => { const node = make("span", text, kind); node.setAttribute("role", "cell"); return node; };
    row.append(cell(short(tensor.name, 200)), cell(tensor.kind), cell(short(tensor.shape, 80)), cell(tensor.elements === undefined ? "" : num(tensor.elements), "n"),
      cell(tensor.bytes === undefined ? "" : size(tensor.bytes), "n"), cell(tensor.offset === undefined ? "" : num(tensor.offset), "n"));
    if (tensor.values) { const canvas = make("canvas"); row.append(canvas); requestAnimationFrame(() => spark(canvas, tensor.values)); }
    row.addEventListener("click", () => choose(tensor, false));
    $("space").append(row);
    rows.set(at, row);
  }
};
const choose = (tensor, scroll) => {
  chosen = tensor;
  if (scroll) {
    if (!order.includes(tensor)) { $("search").value = ""; arrange(); }
    $("scroller").scrollTop = Math.max(0, order.indexOf(tensor) * ROW - 150);
  }
  $("detail-name").textContent = tensor.name;
  $("detail-facts").replaceChildren();
  if (tensor.kind) fact($("detail-facts"), "type", tensor.kind);
  if (tensor.shard) fact($("detail-facts"), "shard", tensor.shard);
  if (tensor.bytes !== undefined) for (const [name, value] of [["shape", tensor.shape], ["elements", num(tensor.elements)], ["bytes", num(tensor.bytes)], ["from byte", num(tensor.offset)]]) fact($("detail-facts"), name, value);
  const values = tensor.values;
  if (values) for (const key of ["min", "max", "mean", "deviation", "zeros", "nan", "infinite"]) if (values[key] !== null && values[key] !== undefined) fact($("detail-facts"), key, brief(values[key]));
  show("detail");
  const bins = Boolean(values && values.bins);
  $("histogram").hidden = $("histogram-hint").hidden = !bins;
  if (bins) { spark($("histogram"), values); $("histogram-hint").textContent = `How many values from ${brief(values.min)} to ${brief(values.max)}, in ${values.bins.length} steps; heights are square roots.`; }
  refresh();
};
if (data.tensors) {
  show("tensors-part");
  for (const [key, label, kind] of columns) {
    const head = make("button", label, kind);
    head.type = "button";
    head.setAttribute("role", "columnheader");
    if (key !== "values") head.addEventListener("click", () => {
      sorted = sorted.key === key ? { key, down: !sorted.down } : { key, down: kind === "n" };
      for (const other of $("columns").children) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", sorted.down ? "descending" : "ascending");
      arrange();
    });
    $("columns").append(head);
  }
  $("search").addEventListener("input", arrange);
  $("scroller").addEventListener("scroll", () => requestAnimationFrame(paint), { passive: true });
}

// --- Drawings.
const ready = (canvas) => {
  const box = canvas.getBoundingClientRect(), scale = Math.min(devicePixelRatio || 1, 3);
  if (!box.width || !box.height) return null;
  canvas.width = Math.round(box.width * scale);
  canvas.height = Math.round(box.height * scale);
  const pen = canvas.getContext("2d");
  pen.scale(scale, scale);
  return pen;
};
// Nodes of a tree by the names' dots, for as long as there are few enough to see.
const tree = () => {
  const root = { area: 0, children: new Map(), tensor: null };
  for (const tensor of tensors) {
    if (!tensor.area) continue;
    let node = root;
    root.area += tensor.area;
    const parts = tensor.name.split(/[./]/).slice(0, 12);
    parts.forEach((part, at) => {
      const key = at === parts.length - 1 ? part + "\u0000" + tensor.at : part;
      if (!node.children.has(key)) node.children.set(key, { area: 0, children: new Map(), tensor: null });
      node = node.children.get(key);
      node.area += tensor.area;
    });
    node.tensor = tensor;
  }
  return root;
};
// Rectangles as near to squares as the order by size allows, a strip at a time along the shorter side.
const squares = (nodes, x, y, w, h, put) => {
  nodes = nodes.filter((node) => node.area > 0).sort((a, b) => b.area - a.area);
  let left = nodes.reduce((sum, node) => sum + node.area, 0), at = 0;
  while (at < nodes.length && w > 0.4 && h > 0.4) {
    const side = Math.min(w, h), unit = w * h / left;
    let strip = 0, end = at, worst = Infinity;
    while (end < nodes.length) {
      const sum = strip + nodes[end].area, thick = sum * unit / side;
      const ratio = Math.max(nodes[at].area * unit / thick / thick, thick * thick / (nodes[end].area * unit));
      if (ratio > worst) break;
      worst = ratio; strip = sum; end++;
    }
    const thick = strip * unit / side;
    let along = 0;
    for (; at < end; at++) {
      const length = nodes[at].area * unit / thick;
      if (w >= h) put(nodes[at], x, y + along, thick, length); else put(nodes[at], x + along, y, length, thick);
      along += length;
    }
    left -= strip;
    if (w >= h) { x += thick; w -= thick; } else { y += thick; h -= thick; }
  }
};
let boxes = [], spans = [];
const drawTree = () => {
  const pen = ready($("tree"));
  boxes = [];
  if (!pen) return;
  const lay = (node, x, y, w, h, deep) => {
    if (node.tensor) {
      pen.fillStyle = colour(node.tensor.kind, deep % 2 ? 4 : 0);
      pen.fillRect(x, y, Math.max(w - 0.6, 0.4), Math.max(h - 0.6, 0.4));
      if (w > 60 && h > 14) { pen.fillStyle = dark.matches ? "#fff" : "#111"; pen.font = "11px ui-monospace, monospace"; pen.save(); pen.beginPath(); pen.rect(x, y, w - 3, h); pen.clip(); pen.fillText(short(node.tensor.name.split(/[./]/).slice(-2).join("."), 60), x + 3, y + 12); pen.restore(); }
      boxes.push([x, y, w, h, node.tensor]);
      return;
    }
    const pad = deep && w > 12 && h > 12 ? 1 : 0;
    squares([...node.children.values()], x + pad, y + pad, w - 2 * pad, h - 2 * pad, (child, a, b, c, d) => lay(child, a, b, c, d, deep + 1));
  };
  const box = $("tree").getBoundingClientRect();
  lay(tree(), 0, 0, box.width, box.height, 0);
};
const LINES = 5;
const drawBytes = () => {
  const pen = data.shards ? null : ready($("bytes")), whole = Number(data.size || 0);
  spans = [];
  if (!pen || !whole) return;
  const box = $("bytes").getBoundingClientRect(), tall = box.height / LINES, scale = box.width * LINES / whole;
  const fill = (from, to, paint, what) => {
    let a = from * scale;
    const b = Math.max(to * scale, a + 0.3);
    spans.push([from, to, what]);
    pen.fillStyle = paint;
    while (a < b) {
      const line = Math.min(Math.floor(a / box.width + 1e-9), LINES - 1), x = a - line * box.width, end = Math.min(b, (line + 1) * box.width);
      if (end <= a) break;
      pen.fillRect(x, line * tall, end - a, tall - 2);
      a = end;
    }
  };
  fill(0, whole, style("--gap"), "nothing");
  fill(0, Number(data.data_start || 0), style("--head"), "header");
  for (const tensor of [...tensors].sort((a, b) => a.start - b.start)) if (tensor.area) fill(tensor.start, tensor.start + tensor.area, colour(tensor.kind, tensor.at % 2 ? 5 : -3), tensor);
};
const tip = (event, text) => {
  const box = $("tip");
  box.hidden = !text;
  if (!text) return;
  box.textContent = short(text, 300);
  box.style.left = Math.min(event.clientX + 12, innerWidth - 240) + "px";
  box.style.top = event.clientY + 16 + "px";
};
const label = (tensor) => `${tensor.name} ${tensor.kind} ${tensor.shape} ${size(tensor.bytes)}`;
const under = (event) => {
  const box = $("tree").getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top;
  const hit = boxes.find(([left, top, w, h]) => x >= left && x < left + w && y >= top && y < top + h);
  return hit && hit[4];
};
const there = (event) => {
  const box = $("bytes").getBoundingClientRect(), line = Math.min(LINES - 1, Math.floor((event.clientY - box.top) / box.height * LINES));
  const at = (event.clientX - box.left + line * box.width) / (box.width * LINES) * Number(data.size);
  const hit = spans.findLast(([from, to]) => at >= from && at < to);
  return [Math.floor(at), hit && hit[2]];
};
const draw = () => { for (const [bar, kind] of bars) bar.style.background = colour(kind); drawTree(); drawBytes(); if (data.tensors) refresh(); if (chosen && chosen.values) spark($("histogram"), chosen.values); };
if (total) {
  show("map-part");
  // Of several files there is no one map.
  if (data.shards) for (const id of ["bytes", "bytes-hint"]) $(id).hidden = true;
  $("tree").addEventListener("pointermove", (event) => { const tensor = under(event); tip(event, tensor && label(tensor)); });
  $("tree").addEventListener("click", (event) => { const tensor = under(event); if (tensor) choose(tensor, true); });
  $("bytes").addEventListener("pointermove", (event) => { const [at, what] = there(event); tip(event, what && `byte ${num(at)}: ` + (typeof what === "string" ? what : label(what))); });
  $("bytes").addEventListener("click", (event) => { const what = there(event)[1]; if (what && typeof what !== "string") choose(what, true); });
  for (const id of ["tree", "bytes"]) $(id).addEventListener("pointerleave", (event) => tip(event, ""));
}
if (data.tensors) arrange();
draw();
let waiting = 0;
addEventListener("resize", () => { cancelAnimationFrame(waiting); waiting = requestAnimationFrame(draw); });
dark.addEventListener("change", draw);
document.documentElement.dataset.ready = "yes";
})();
