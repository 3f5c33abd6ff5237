"""safetensors: what must be accepted."""

import json
import pathlib
import struct

from common import ROWS, Row
from st import BYTE, EMPTY, HUNDRED, accept, placed, tensor, with_shape

# Accepted.

BITS = {
    **{tag: 8 for tag in "BOOL U8 I8 F8_E5M2 F8_E4M3 F8_E8M0 F8_E4M3FNUZ F8_E5M2FNUZ".split()},
    **{tag: 16 for tag in "I16 U16 F16 BF16".split()},
    **{tag: 32 for tag in "I32 U32 F32".split()},
    **{tag: 64 for tag in "C64 F64 I64 U64".split()},
    **{"F4": 4, "F6_E2M3": 6, "F6_E3M2": 6},
}
assert len(BITS) == 22
for tag, bits in BITS.items():
    size = 4 * bits // 8
    accept(f"dtype-{tag.lower()}", "{" + tensor("w", tag, "[4]", 0, size) + "}", bytes(i & 1 for i in range(size)))
members, end = [], 0
for tag, bits in BITS.items():
    members.append(tensor(f"t.{tag}", tag, "[1,8]", end, end + bits))
    end += bits
accept("dtypes-all", "{" + ",".join(members) + "}", bytes(end))
accept("empty-object", "{}")
accept("empty-object-padded", "{}" + " " * 6)
accept("trailing-white-space", "{" + BYTE + "} \t\r\n", b"\1")
accept("trailing-page", ("{" + BYTE + "}").ljust(4088), b"\1")
accept("pretty-printed", json.dumps({"w": {"dtype": "F32", "shape": [1, 2], "data_offsets": [0, 8]}}, indent=2), bytes(8))
accept("white-space-everywhere", ' {"w":'.strip() + ' \r\n{\t"dtype" : "U8" , "shape" : [ 1 , 1 ] , "data_offsets" : [ 0 , 1 ] } }', b"\1")
accept("metadata-null", '{"__metadata__":null,' + BYTE + "}", b"\1")
accept("metadata-empty", '{"__metadata__":{},' + BYTE + "}", b"\1")
accept("metadata-alone", '{"__metadata__":{"format":"pt"}}')
accept("metadata-last", "{" + BYTE + ',"__metadata__":{"b":"1","a":"2"}}', b"\1")
accept("metadata-escaped-key", '{"\\u005f_metadata__":{"a":"b"},' + BYTE + "}", b"\1")
accept("metadata-values", '{"__metadata__":{"":"","json":"{\\"a\\":[1,null]}","\\u00e9":"\U0001f600","braces":"{{{{{{"}}')
accept("metadata-hundred-keys-in-no-order", '{"__metadata__":{' + HUNDRED + "}}")
accept("scalar", "{" + tensor("s", "F64", "[]", 0, 8) + "}", bytes(8))
accept("rank-64", "{" + tensor("w", "U8", "[" + ",".join(["1"] * 64) + "]", 0, 1) + "}", b"\1")
accept("rank-1000-zeros", "{" + tensor("w", "U8", "[" + ",".join(["0"] * 1000) + "]", 0, 0) + "}")
accept("zero-then-huge", with_shape(f"[0,{1 << 40},{1 << 40}]", "[0,0]"))
accept("zero-and-largest-dim", with_shape(f"[0,{(1 << 64) - 1}]", "[0,0]"))
empties = [placed("a", 0, 0), placed("b", 0, 2), placed("c", 2, 2), placed("d", 2, 2), placed("e", 2, 4), placed("f", 4, 4)]
accept("empty-tensors-at-boundaries", "{" + ",".join(empties) + "}", bytes(4))
accept("empty-tensors-listed-last", "{" + ",".join(reversed(empties)) + "}", bytes(4))
accept("names-against-data-order", "{" + placed("z", 0, 1) + "," + placed("a", 1, 2) + "}", bytes(2))
accept("entries-against-data-order", "{" + placed("a", 1, 2) + "," + placed("b", 0, 1) + "}", bytes(2))
accept("unaligned-f32", "{" + placed("a", 0, 1) + "," + tensor("b", "F32", "[1]", 1, 5) + "}", bytes(5))
accept("fields-in-any-order", '{"w":{"data_offsets":[0,1],"shape":[1],"dtype":"U8"}}', b"\1")
accept("space-between-members", "{" + tensor("a", "U8", "[0]", 0, 0) + ", " + tensor("b", "U8", "[0]", 0, 0) + "}")
accept("escapes-of-every-kind", '{"\\"\\\\\\/\\b\\f\\n\\r\\t":' + EMPTY + "}")
accept("escaped-fields", '{"w":{"\\u0064type":"\\u0055\\u0038","sh\\u0061pe":[1],"data\\u005foffsets":[0,1]}}', b"\1")
accept("names-like-fields", "{" + ",".join(tensor(n, "U8", "[0]", 0, 0) for n in ("dtype", "shape", "data_offsets")) + "}")
names = ["", "\\u0000", "\\n", "é", "日本", "\U0001f600", "\\ud83d\\ude01", "\x7f", "\u2028", "\uffff", "../../etc", '\\"{', "A", "a"]
accept("odd-names", "{" + ",".join(f'"{name}":{EMPTY}' for name in names) + "}")
accept("name-of-4096-bytes", "{" + tensor("n" * 4096, "U8", "[0]", 0, 0) + "}")
accept("name-almost-metadata", "{" + ",".join(tensor(n, "U8", "[0]", 0, 0) for n in ("__metadata_", "__metadata___", "_")) + "}")
accept("bool-of-2", "{" + tensor("w", "BOOL", "[1]", 0, 1) + "}", b"\2")
accept("nan-and-infinity", "{" + tensor("w", "F32", "[2]", 0, 8) + "}", struct.pack("<ff", float("nan"), float("inf")))
accept("f4-half-byte-rows", "{" + tensor("w", "F4", "[2,3]", 0, 3) + "}", bytes(3))

# What real writers leave, from the cases.

FROM_CASES = [
    "A-upstream/py_metadata_and_tensor",
    "A-upstream/py_two_dtypes_by_alignment",
    "L-field/mlx_writer_no_metadata",
    "L-field/mlx_writer_metadata",
    "L-field/diffusers_style_metadata_none",
    "W-writer/unicode_names",
    "W-writer/zero_sized_mix",
    "W-writer/unaligned_order",
    "W-writer/f6_then_u8_odd",
    "W-writer/long_json_like_name",
]
cases_path = pathlib.Path(__file__).resolve().parents[2] / "tests/cases/safetensors.json"
cases = {case["name"]: case for case in json.loads(cases_path.read_text())}
for name in FROM_CASES:
    assert cases[name]["strict_expected"] == "ok", name
    path = "accept/" + name.split("/")[1].replace("_", "-") + ".safetensors"
    ROWS.append(Row(path, bytes.fromhex(cases[name]["hex"]), origin=f"case {name}"))
