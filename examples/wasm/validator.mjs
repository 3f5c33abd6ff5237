// Judges model files inside a WebAssembly sandbox: the module imports nothing, so that it can reach nothing, and its memory
// has a limit. Works in browsers, Node, Deno and Bun. See README.md.

const FORMATS = { safetensors: 1, index: 2, gguf: 3 };
/** The names of limits and other settings, in the module's order. */
export const LIMITS = [
  "header_len", "tensors", "rank", "name_len", "metadata_keys", "metadata_len", "key_len", "string_len", "array_len",
  "gguf_name_len", "gguf_rank", "index_len", "shards", "index_metadata_len", "index_metadata_depth", "leading_space",
  "array_text",
];
const OUTCOMES = ["accepted", "rejected", "more bytes", "more room", "misused", "more list"];
const PAGE = 65536;
const REPORT = 192; // bytes that a report takes, as in src/lib.rs
const NONE = 2n ** 64n - 1n;
const KEPT = 1 << 24; // an instance whose memory grew beyond this is not used for the next file

/** The format that a file's name promises, or undefined. */
export function formatOf(name) {
  const endings = { ".safetensors": "safetensors", ".index.json": "index", ".gguf": "gguf" };
  return endings[Object.keys(endings).find((ending) => name.endsWith(ending))];
}

export class Validator {
  #module;
  #most;
  #instance;

  /** `module` is a WebAssembly.Module; a file may make it take at most `most` bytes of memory. */
  constructor(module, { most = 1 << 30 } = {}) {
    this.#module = module;
    this.#most = most;
    this.#start();
  }

  static async load(bytes, options) {
    return new Validator(await WebAssembly.compile(bytes), options);
  }

  /** A fresh instance: nothing of an earlier file is left in it. */
  #start() {
    this.#instance = new WebAssembly.Instance(this.#module, {}).exports;
  }

  /**
   * Judges a file of `length` bytes, of which `read(count)` gives the first `count` as a Uint8Array (or a promise of one).
   * Only as much is read as the verdict takes: the header, or an index whole. Gives `{ok, tensors, read}`, or
   * `{ok: false, code, at, text, read}` with the rule and the offset that broke it; `read` is how many bytes were looked at.
   * Throws where more memory is needed than `most`.
   * With `list` an accepted file's verdict has its tensors as `list`: `{name, kind, shape, offset, bytes}`, the numbers as
   * BigInt; of an index `{name, shard}`. With `whole` all bytes are read at once, and a GGUF file's padding is judged too.
   * `limits` are those of `Limits`, by name; besides, `leading_space: 1` tolerates it, and `array_text: 1` looks into the strings of GGUF arrays.
   */
  async validate(format, length, read, { limits = {}, whole = false, list = false } = {}) {
    let have = whole || format === "index" ? length : Math.min(length, 8);
    let room = 4096;
    let listRoom = list ? 4096 : 0;
    let asked = 0;
    const all = () => {
      // Not even read: the module could not hold it.
      if (have > this.#most) throw new RangeError(`${have} bytes would have to be read, and ${this.#most} may be`);
      return read(have);
    };
    let bytes = await all();
    if (this.#instance.memory.buffer.byteLength > KEPT) this.#start();
    for (;;) {
      const { outcome, report, records } = this.#run(format, bytes.subarray(0, have), BigInt(length), room, limits, listRoom);
      const needs = Number(report.getBigUint64(8, true));
      if (outcome === "accepted") {
        const tensors = Number(report.getBigUint64(16, true));
        return { ok: true, tensors, read: have, ...(list ? { list: listed(records, tensors, format === "index") } : {}) };
      }
      if (outcome === "rejected") return { ok: false, ...this.#words(report), read: have };
      if (outcome === "misused" || (outcome === "more bytes" && needs <= have)) throw new Error("the call is wrong");
      if (outcome === "more room") {
        room = needs;
      } else if (outcome === "more list") {
        listRoom = needs;
      } else {
        // A GGUF header does not say how long it is: from the third question on, twice as much is read.
        have = Math.min(length, ++asked > 2 ? Math.max(needs, 2 * have) : needs);
        bytes = await all();
        if (bytes.length < have) throw new Error("the file is shorter than its length");
      }
    }
  }

  /** A call that was cut short leaves its stack behind, so that no other is made in that instance. */
  #run(...call) {
    try {
      return this.#call(...call);
    } catch (error) {
      this.#start();
      throw error;
    }
  }

  #call(format, bytes, length, room, limits, listRoom) {
    const { memory, validate, list, __heap_base } = this.#instance;
    const align = (at) => Math.ceil(at / 8) * 8;
    const report = align(__heap_base.value);
    const table = report + REPORT;
    const slots = table + 8 * LIMITS.length;
    const records = slots + align(room);
    const file = records + align(listRoom);
    const end = file + bytes.length;
    if (end > this.#most) throw new RangeError(`the header takes ${end} bytes of memory`);
    if (end > memory.buffer.byteLength) memory.grow(Math.ceil((end - memory.buffer.byteLength) / PAGE));
    new Uint8Array(memory.buffer).set(bytes, file);
    const view = new DataView(memory.buffer);
    for (const name of Object.keys(limits)) if (!LIMITS.includes(name)) throw new Error(`no such limit: ${name}`);
    LIMITS.forEach((name, at) => view.setBigUint64(table + 8 * at, BigInt(limits[name] ?? NONE), true));
    // An address without bytes is passed as it is: it is never read.
    const call = [FORMATS[format] ?? 0, file, bytes.length, length, slots, align(room), table, report];
    const outcome = listRoom ? list(...call, records, align(listRoom)) : validate(...call);
    return {
      outcome: OUTCOMES[outcome],
      report: new DataView(memory.buffer, report, REPORT),
      records: new DataView(memory.buffer, records, align(listRoom)),
    };
  }

  #words(report) {
    const text = new TextDecoder().decode(new Uint8Array(report.buffer, report.byteOffset + 32, report.getUint32(28, true)));
    return { code: text.slice(0, report.getUint32(24, true)), at: Number(report.getBigUint64(0, true)), text };
  }
}

/** What the records of src/list.rs say. */
function listed(records, tensors, isIndex) {
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  let at = 0;
  const word = () => records.getBigUint64((at += 8) - 8, true);
  const text = () => {
    const length = Number(word());
    const start = records.byteOffset + at;
    at += Math.ceil(length / 8) * 8;
    return decoder.decode(new Uint8Array(records.buffer, start, length));
  };
  return Array.from({ length: tensors }, () => {
    const [offset, bytes] = [word(), word()];
    const shape = Array.from({ length: Number(word()) }, word);
    const [name, kind] = [text(), text()];
    return isIndex ? { name, shard: kind } : { name, kind, shape, offset, bytes };
  });
}
