"""safetensors: faults of size and layout, and the limits of the caller."""

import struct

from st import BYTE, EMPTY, placed, reject, tensor, with_shape

# Sizes.

for name, (dtype, shape) in {
    "elements": ("U8", f"[{1 << 32},{1 << 32}]"),
    "elements-wrap-to-two": ("U8", f"[{(1 << 63) + 1},2]"),
    "huge-then-zero": ("U8", f"[{1 << 40},{1 << 40},0]"),
    "bits-wrap-to-zero": ("F64", f"[{1 << 58}]"),
    "bits-wrap-to-64": ("F32", f"[{(1 << 59) + 2}]"),
    "bits-of-bytes": ("U8", f"[{1 << 61}]"),
    "three-dims-wrap-to-four": ("F32", "[4194305,4194305,211106198978564]"),
    "sub-byte": ("F4", f"[{1 << 62}]"),
}.items():
    reject("ST-SIZE-OVERFLOW", name, with_shape("¦" + shape, "[0,0]", dtype))
for name, (dtype, shape) in {
    "f4-scalar": ("F4", "[]"),
    "f4-three": ("F4", "[3]"),
    "f4-odd-product": ("F4", "[3,5]"),
    "f6-scalar": ("F6_E2M3", "[]"),
    "f6-two": ("F6_E3M2", "[2]"),
    "f6-five": ("F6_E2M3", "[5]"),
}.items():
    reject("ST-SIZE-BITS", name, with_shape("¦" + shape, "[0,2]", dtype), bytes(2))
reject("ST-OFFSETS-REVERSED", "by-one", with_shape("[0]", "¦[1,0]"), b"\1")
reject("ST-OFFSETS-REVERSED", "wraps-to-size", with_shape("[1]", f"¦[{(1 << 64) - 1},0]"), b"\1")
reject("ST-OFFSETS-REVERSED", "swapped", with_shape("[2]", "¦[2,0]"), bytes(2))
for name, (dtype, shape, offsets) in {
    "one-short": ("U8", "[2]", "[0,1]"),
    "one-long": ("U8", "[2]", "[0,3]"),
    "elements-for-bytes": ("F32", "[2]", "[0,2]"),
    "c64-as-16": ("C64", "[1]", "[0,16]"),
    "f4-a-byte-each": ("F4", "[2]", "[0,2]"),
    "scalar-as-none": ("U8", "[]", "[0,0]"),
    "none-as-scalar": ("U8", "[0]", "[0,1]"),
    "end-all-ones": ("U8", "[1]", f"[0,{(1 << 64) - 1}]"),
    "length-for-end": ("U8", "[2]", "[2,2]"),
    "half-a-double": ("F64", "[2]", "[0,8]"),
}.items():
    reject("ST-SIZE-MISMATCH", name, with_shape(shape, "¦" + offsets, dtype), bytes(4))

# Layout. The mark stands before data_offsets' value.





def layout(code, name, ranges, lie, data):
    members = [placed(chr(97 + i), begin, end, i == lie) for i, (begin, end) in enumerate(ranges)]
    reject(code, name, "{" + ",".join(members) + "}", bytes(data))


layout("ST-GAP", "at-start", [(1, 2)], 0, 2)
layout("ST-GAP", "between", [(0, 1), (2, 3)], 1, 3)
layout("ST-GAP", "between-out-of-order", [(2, 3), (0, 1)], 0, 3)
layout("ST-GAP", "absolute-offsets", [(70, 72)], 0, 2)
layout("ST-GAP", "empty-tensor-alone", [(8, 8)], 0, 8)
layout("ST-GAP", "empty-tensor-behind", [(0, 1), (2, 2)], 1, 2)
layout("ST-GAP", "two-gaps", [(0, 1), (5, 6), (2, 3)], 2, 6)
layout("ST-GAP", "far-past-the-file", [(0, 1), (1 << 60, (1 << 60) + 1)], 1, 1)
layout("ST-OVERLAP", "same-range", [(0, 4), (0, 4)], 1, 4)
layout("ST-OVERLAP", "partial", [(0, 3), (2, 4)], 1, 4)
layout("ST-OVERLAP", "partial-out-of-order", [(2, 4), (0, 3)], 0, 4)
layout("ST-OVERLAP", "contained", [(0, 4), (1, 2)], 1, 4)
layout("ST-OVERLAP", "contained-at-start", [(0, 4), (0, 2)], 0, 4)
layout("ST-OVERLAP", "empty-inside", [(0, 4), (2, 2)], 1, 4)
layout("ST-OVERLAP", "by-one", [(0, 2), (2, 4), (3, 6)], 2, 6)
layout("ST-DATA-SHORT", "no-data", [(0, 4)], 0, 0)
layout("ST-DATA-SHORT", "by-one", [(0, 4)], 0, 3)
layout("ST-DATA-SHORT", "second-tensor-cut", [(0, 2), (2, 4)], 1, 3)
layout("ST-DATA-SHORT", "first-of-two-cut", [(0, 2), (2, 4)], 0, 1)
layout("ST-DATA-SHORT", "out-of-order", [(2, 4), (0, 2)], 0, 3)
layout("ST-DATA-SHORT", "empty-not-blamed", [(0, 2), (2, 2), (2, 4)], 2, 2)
step = (1 << 61) - 1
layout("ST-DATA-SHORT", "eight-times-2-to-the-61", [(i * step, (i + 1) * step) for i in range(8)], 0, 0)
for name, (header, data, extra) in {
    "by-one": ("{" + BYTE + "}", b"\1", b"\0"),
    "newline": ("{" + BYTE + "}", b"\1", b"\n"),
    "zip-behind": ("{" + BYTE + "}", b"\1", b"PK\x05\x06" + bytes(18)),
    "no-tensors": ("{}", b"", b"\1"),
    "metadata-only": ('{"__metadata__":{}}', b"", b"\1\2"),
    "written-twice": ("{" + BYTE + "}", b"\1", struct.pack("<Q", len(BYTE) + 2) + b"{" + BYTE.encode() + b"}\1"),
    "empty-tensor": ('{"w":' + EMPTY + "}", b"", b"\1"),
}.items():
    reject("ST-DATA-TRAILING", name, header, data + extra, at=8 + len(header) + len(data))

# The caller's limits.

three = [tensor(name, "U8", "[0]", 0, 0) for name in "abc"]
reject("ST-LIMIT-TENSORS", "three-of-two", "{" + three[0] + "," + three[1] + ",¦" + three[2] + "}", limits="tensors=2")
reject("ST-LIMIT-TENSORS", "one-of-none", "{¦" + three[0] + "}", limits="tensors=0")
reject("ST-LIMIT-TENSORS", "metadata-is-none", '{"__metadata__":{},¦' + three[0] + "}", limits="tensors=0")
reject("ST-LIMIT-RANK", "three-of-two", with_shape("[1,1,¦1]", "[0,1]"), b"\1", limits="rank=2")
reject("ST-LIMIT-RANK", "one-of-none", with_shape("[ ¦1 ]", "[0,1]"), b"\1", limits="rank=0")
reject("ST-LIMIT-NAME", "five-of-four", '{¦"abcde":' + EMPTY + "}", limits="name_len=4")
reject("ST-LIMIT-NAME", "escapes-count-as-they-stand", '{¦"\\u0061":' + EMPTY + "}", limits="name_len=4")
reject("ST-LIMIT-NAME", "one-of-none", '{"__metadata__":{"long":""},¦"a":' + EMPTY + "}", limits="name_len=0")
reject("ST-LIMIT-METADATA", "three-of-two", '{"__metadata__":{"a":"","b":"",¦"c":""}}', limits="metadata_keys=2")
reject("ST-LIMIT-METADATA", "one-of-none", '{"__metadata__":{ ¦"a":""}}', limits="metadata_keys=0")
