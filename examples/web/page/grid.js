// A table of which only the rows that can be seen are in the document.

import { make } from "./text.js";

const ROW = 26;
// A browser's longest element is some ten million pixels.
const LONGEST = 300000;
let grids = 0;

export class Grid {
  #host;
  #columns;
  #choose;
  #id = `grid-${++grids}`;
  #head = make("div", undefined, "columns");
  #space = make("div", undefined, "space");
  #all = [];
  #order = [];
  #sorted = null;
  #chosen = null;
  #rows = new Map();

  /**
   * `columns` are `{label, text, key, kind, n}`: what a row's cell shows, what it is sorted by, its class, and whether it is a
   * number. `choose` is called with a row that a click or a key chose.
   */
  constructor(host, label, columns, choose = () => {}) {
    this.#host = host;
    this.#choose = choose;
    const table = make("div");
    table.append(this.#head, this.#space);
    host.replaceChildren(table);
    host.tabIndex = 0;
    host.setAttribute("role", "grid");
    host.setAttribute("aria-label", label);
    table.setAttribute("role", "presentation");
    this.#space.setAttribute("role", "rowgroup");
    this.#head.setAttribute("role", "row");
    this.columns(columns);
    let waiting = 0;
    const paint = () => { cancelAnimationFrame(waiting); waiting = requestAnimationFrame(() => this.#paint()); };
    host.addEventListener("scroll", paint, { passive: true });
    new ResizeObserver(paint).observe(host);
    host.addEventListener("keydown", (event) => this.#key(event));
  }

  /** The rows there can be scrolled to. */
  static get most() { return LONGEST; }

  columns(columns) {
    this.#columns = columns;
    this.#sorted = null;
    this.#head.replaceChildren(...columns.map((column) => {
      const head = make("button", column.label, column.n ? "n" : "");
      head.type = "button";
      head.setAttribute("role", "columnheader");
      head.addEventListener("click", () => this.#sort(column, head));
      return head;
    }));
  }

  /** Shows rows, from the first, or from where it stands if they are the same ones and more. */
  show(rows, { stay = false } = {}) {
    this.#all = rows;
    if (!stay) this.#host.scrollTop = 0;
    if (!rows.includes(this.#chosen)) this.#chosen = null;
    this.#arrange();
  }

  choose(row) {
    this.#chosen = row;
    this.#refresh();
  }

  #sort(column, head) {
    const before = this.#sorted?.column === column ? this.#sorted.down : null;
    this.#sorted = { column, down: before === null ? Boolean(column.n) : !before };
    for (const other of this.#head.children) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", this.#sorted.down ? "descending" : "ascending");
    this.#arrange();
  }

  #arrange() {
    this.#order = this.#all;
    if (this.#sorted) {
      const { column: { key }, down } = this.#sorted;
      const sign = down ? -1 : 1;
      const keyed = this.#all.map((row) => [key(row), row]);
      keyed.sort(([a], [b]) => (a < b ? -sign : a > b ? sign : 0));
      this.#order = keyed.map(([, row]) => row);
    }
    this.#host.setAttribute("aria-rowcount", this.#order.length + 1);
    this.#space.style.height = `${Math.min(this.#order.length, LONGEST) * ROW}px`;
    this.#refresh();
  }

  #refresh() {
    this.#space.replaceChildren();
    this.#rows.clear();
    this.#paint();
  }

  #paint() {
    const first = Math.max(0, Math.floor(this.#host.scrollTop / ROW) - 10);
    const last = Math.min(this.#order.length, LONGEST, first + Math.ceil(this.#host.clientHeight / ROW) + 20);
    for (const [at, row] of this.#rows) {
      if (at >= first && at < last) continue;
      row.remove();
      this.#rows.delete(at);
    }
    for (let at = first; at < last; at++) {
      if (this.#rows.has(at)) continue;
      const row = this.#row(at);
      this.#space.append(row);
      this.#rows.set(at, row);
    }
    const chosen = this.#rows.get(this.#order.indexOf(this.#chosen));
    if (chosen) this.#host.setAttribute("aria-activedescendant", chosen.id);
    else this.#host.removeAttribute("aria-activedescendant");
  }

  #row(at) {
    const item = this.#order[at];
    const isChosen = item === this.#chosen;
    const row = make("div", undefined, isChosen ? "row chosen" : "row");
    row.id = `${this.#id}-${at}`;
    row.setAttribute("role", "row");
    row.setAttribute("aria-rowindex", at + 2);
    row.setAttribute("aria-selected", isChosen);
    row.style.top = `${at * ROW}px`;
    row.append(...this.#columns.map((column) => {
      const cell = make("span", column.text(item), column.n ? "n" : column.kind?.(item));
      cell.setAttribute("role", "gridcell");
      return cell;
    }));
    row.addEventListener("click", () => this.#pick(at));
    return row;
  }

  #pick(at) {
    this.choose(this.#order[at]);
    this.#choose(this.#chosen);
  }

  #key(event) {
    const last = Math.min(this.#order.length, LONGEST) - 1;
    const page = Math.max(1, Math.floor(this.#host.clientHeight / ROW) - 2);
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -last, End: last };
    const step = steps[event.key];
    if (step === undefined || last < 0 || event.target !== this.#host || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    const from = this.#order.indexOf(this.#chosen);
    const at = from < 0 ? (event.key === "End" ? last : 0) : Math.min(last, Math.max(0, from + step));
    const top = at * ROW;
    const seen = this.#host.clientHeight - 2 * ROW;
    if (top < this.#host.scrollTop) this.#host.scrollTop = top;
    if (top > this.#host.scrollTop + seen) this.#host.scrollTop = top - seen;
    this.#pick(at);
  }
}
