"""GGUF: what must be accepted."""

import base64
import json
import math
import pathlib

from common import ROWS, Row
from gg import ARRAY, BIG, BOOL, F32, F64, FORMS, I8, I64, LITTLE, STRING, U8, U16, U32, U64, accept, model, padded

NAMES = "u8 i8 u16 i16 u32 i32 f32 bool string array u64 i64 f64".split()
# Type: number, elements in a block, bytes of a block; from ggml.h and the type_traits of ggml.c.
TYPES = {
    "f32": (0, 1, 4), "f16": (1, 1, 2), "q4_0": (2, 32, 18), "q4_1": (3, 32, 20), "q5_0": (6, 32, 22), "q5_1": (7, 32, 24),
    "q8_0": (8, 32, 34), "q8_1": (9, 32, 36), "q2_k": (10, 256, 84), "q3_k": (11, 256, 110), "q4_k": (12, 256, 144),
    "q5_k": (13, 256, 176), "q6_k": (14, 256, 210), "q8_k": (15, 256, 292), "iq2_xxs": (16, 256, 66), "iq4_nl": (20, 32, 18),
    "i8": (24, 1, 1), "i16": (25, 1, 2), "i32": (26, 1, 4), "i64": (27, 1, 8), "f64": (28, 1, 8), "bf16": (30, 1, 2),
    "tq1_0": (34, 256, 54), "mxfp4": (39, 32, 17), "nvfp4": (40, 64, 36), "q1_0": (41, 128, 18), "q2_0": (42, 64, 18),
}  # fmt: skip
EDGES = {"B": (0, 255), "b": (-128, 127), "H": (0, 65535), "h": (-32768, 32767), "I": (0, 2**32 - 1), "i": (-(2**31), 2**31 - 1)}
EDGES |= {"Q": (0, 2**64 - 1), "q": (-(2**63), 2**63 - 1), "f": (-0.0, math.inf), "d": (math.nan, -math.inf)}

accept("gguf-v2", LITTLE.frame(version=2))
accept("gguf-v3", LITTLE.frame())
accept("gguf-v3-big-endian", BIG.frame())
accept("gguf-no-tensors-padded", padded([LITTLE.frame(0, 1), LITTLE.pair("k", U8, 1)]))
accept("gguf-no-tensors-padded-in-part", LITTLE.frame(), bytes(3))
accept("gguf-no-tensors-not-padded", LITTLE.frame(0, 1), LITTLE.pair("k", U8, 1))
for kind, name in enumerate(NAMES):
    if kind == ARRAY:
        continue
    values = ("", "é\0") if kind == STRING else (0, 1) if kind == BOOL else EDGES[FORMS[kind]]
    for order, ending in ((LITTLE, ""), (BIG, "-big-endian")):
        pairs = [order.pair(f"least.{name}", kind, values[0]), order.pair(f"most.{name}", kind, values[1])]
        arrays = [order.array("none", kind, []), order.array("both", kind, values), order.array("one", kind, values[:1])]
        accept(f"gguf-value-{name}{ending}", order.frame(0, 2), pairs)
        accept(f"gguf-array-{name}{ending}", order.frame(0, 3), arrays)
accept("gguf-array-string-not-utf8", LITTLE.frame(0, 1), LITTLE.array("tokens", STRING, [b"\xff", b"a"]))
keys = ["a", "general.name", "gpt-oss.block_count", "with space", "UPPER", "__proto__", "~!\"\\", "k" * 300]
accept("gguf-keys", LITTLE.frame(0, len(keys)), [LITTLE.pair(key, U8, 1) for key in keys])
accept("gguf-keys-alike", LITTLE.frame(0, 4), [LITTLE.pair(key, U8, 1) for key in ("a", "a.", "A", "a.a")])
accept("gguf-scores-as-u8", LITTLE.frame(0, 1), LITTLE.array("tokenizer.ggml.scores", U8, [1, 2]))
accept("gguf-block-count-513", LITTLE.frame(0, 1), LITTLE.pair("llama.block_count", U32, 513))
accept("gguf-template-as-text", LITTLE.frame(0, 1), LITTLE.pair("tokenizer.chat_template", STRING, "{{ x.__class__ }}"))

for name, (kind, elements, size) in TYPES.items():
    data = bytes(2 * size) + bytes(-2 * size % 32)
    accept(f"gguf-type-{name}", model(LITTLE.info("w", [elements, 2], kind), data=data))
accept("gguf-last-padding-missing", model(LITTLE.info("w", [3], 24), data=bytes([1, 2, 3])))
accept("gguf-last-padding-in-part", model(LITTLE.info("w", [3], 24), data=bytes([1, 2, 3, 0, 0])))
accept("gguf-scalar", model(LITTLE.info("w", [], 0), data=bytes(4)))
accept("gguf-four-dims", model(LITTLE.info("w", [2, 1, 3, 1], 24), data=bytes(6)))
accept("gguf-zero-elements", model(LITTLE.info("w", [0]), LITTLE.info("v", [3, 0, 5], 24, 0)))
accept("gguf-zero-elements-between", model(
    LITTLE.info("a", [1], 24), LITTLE.info("b", [0], 24, 32), LITTLE.info("c", [1], 24, 32), data=bytes(33)))  # fmt: skip
accept("gguf-zero-blocks", model(LITTLE.info("w", [0, 4], 2)))
accept("gguf-largest-dim-and-zero", model(LITTLE.info("w", [0, 2**63 - 1], 24)))
accept("gguf-two-tensors", model(LITTLE.info("a", [1], 24), LITTLE.info("b", [2], 1, 32), data=bytes(64)))
accept("gguf-names", model(*[LITTLE.info(name, [0]) for name in ("a", "n" * 63, "日本", "../x", "a b", "general.alignment")]))
for alignment in (1, 2, 4, 8, 16, 64, 4096):
    infos = [LITTLE.info("a", [3], 24), LITTLE.info("b", [1], 24, max(alignment, 3 + -3 % alignment))]
    data = bytes(3 + -3 % alignment + 1)
    pair = LITTLE.pair("general.alignment", U32, alignment)
    accept(f"gguf-alignment-{alignment}", model(*infos, data=data, pairs=[pair], alignment=alignment))
accept("gguf-alignment-2-to-the-31-no-tensors", LITTLE.frame(0, 1), LITTLE.pair("general.alignment", U32, 1 << 31))
big = [BIG.pair("general.alignment", U32, 64), BIG.pair("f", F64, 1.5), BIG.array("a", I64, [-1, 2])]
accept("gguf-big-endian-alignment-64", model(
    BIG.info("a", [2, 2], 1), BIG.info("b", [32], 8, 64), data=bytes(98), pairs=big, alignment=64, order=BIG))  # fmt: skip
split = [LITTLE.pair("split.no", U16, 0), LITTLE.pair("split.count", U16, 2), LITTLE.array("s", F32, [0.5]), LITTLE.array("i", I8, [-1])]
accept("gguf-split-first-without-tensors", LITTLE.frame(0, 4), split)
accept("gguf-magic-inside", model(LITTLE.info("GGUF", [4], 24), data=b"GGUF", pairs=[LITTLE.pair("n", U64, 0x46554747)]))

cases_path = pathlib.Path(__file__).resolve().parents[2] / "tests/cases/gguf.json"
cases = {case["name"]: case for case in json.loads(cases_path.read_text())}
for name in ("data_seven_types", "lora_like", "vocab_like", "kv_all_types"):
    assert cases[name]["strict_expected"] == "ok", name
    case = cases[name]
    whole = bytes.fromhex(case["hex"]) if "hex" in case else base64.b64decode(case["b64"])
    ROWS.append(Row(f"accept/gguf-case-{name.replace('_', '-')}.gguf", whole, origin=f"case {name}"))
# A byte has no order.
accept("gguf-big-endian-bytes", model(BIG.info("a", [32], 24), data=bytes(32), order=BIG))
