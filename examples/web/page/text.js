// What files say, as text that can do nothing: it is only ever put into text nodes.

// What would break lines, hide itself or turn the reading direction is shown as its code.
const odd = /[\u0000-\u001f\u007f-\u00a0\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202f\u205f-\u206f\u2800\u3000\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\uffff\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]|\p{Cs}/gu;

export const safe = (text) => String(text).replace(odd, (c) => `\\u{${c.codePointAt(0).toString(16)}}`);
export const short = (text, most) => {
  const begin = text.slice(0, 2 * most);
  return begin.length > most ? [...begin].slice(0, most).join("") + "…" : begin;
};
export const num = (value) => value.toLocaleString("en");

/** A node with a text; the text may be anything. */
export const make = (tag, text, kind) => {
  const node = document.createElement(tag);
  if (text !== undefined) node.textContent = safe(text);
  if (kind) node.className = kind;
  return node;
};

export const size = (bytes) => {
  let value = Number(bytes), unit = 0;
  for (; value >= 1000 && unit < 6; unit++) value /= 1024;
  return unit ? `${value.toFixed(value < 10 ? 2 : 1)} ${["", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"][unit]}` : `${num(bytes)} B`;
};

/** Puts names and values into a <dl>; pairs without a value are left out. */
export const facts = (list, pairs) => {
  list.replaceChildren();
  for (const [name, value] of pairs) {
    if (value === undefined) continue;
    const pair = make("div");
    pair.append(make("dt", name), make("dd", value));
    list.append(pair);
  }
};
