"""Files whose headers are sound and whose data is not: what check --deep tells of them.

The offset is that of the first element, byte or block at fault, worked out from the layout written down here.
"""

import struct

from common import ROWS, Row
from gg import BIG, LITTLE, joined, model
from st import entry, frame

NAN, INFINITY = float("nan"), float("inf")


def found(code, name, whole, inside, data_len, ending):
    """The place at fault stands inside bytes into the data, which ends the file."""
    at = len(whole) - data_len + inside
    ROWS.append(Row(f"deep/{code}/{name}.{ending}", whole, code, at, verdict="found"))


def st(code, name, tensors, inside):
    """tensors: name, dtype, shape, bytes; in the order of the data."""
    entries, data = [], b""
    for tensor, dtype, shape, own in tensors:
        entries.append(f'"{tensor}":{entry(dtype, shape, len(data), len(data) + len(own))}')
        data += own
    header = "{" + ",".join(entries) + "}"
    header += " " * (-len(header) % 8)
    found(code, name, frame(header, data, None)[0], inside, len(data), "safetensors")


def gg(code, name, kind, dims, data, inside, order=LITTLE):
    whole, _ = joined(model(order.info("w", dims, kind), data=data, order=order))
    found(code, name, whole, inside, len(data), "gguf")


st("DT-BOOL", "two", [("a", "U8", "[1]", b"\2"), ("w", "BOOL", "[4]", b"\0\1\2\1")], 3)
st("DT-BOOL", "all-ones", [("w", "BOOL", "[2]", b"\1\xff")], 1)
st("DT-NAN", "f32", [("w", "F32", "[3]", struct.pack("<3f", 1, NAN, 2))], 4)
st("DT-NAN", "f64-negative", [("w", "F64", "[2]", struct.pack("<2d", 1, -NAN))], 8)
st("DT-NAN", "c64-imaginary", [("w", "C64", "[2]", struct.pack("<4f", 1, 2, INFINITY, NAN))], 8)
st("DT-NAN", "f16", [("w", "F16", "[2]", bytes.fromhex("003c 01fc"))], 2)
st("DT-NAN", "bf16", [("w", "BF16", "[2]", bytes.fromhex("803f c07f"))], 2)
st("DT-NAN", "f8-e4m3", [("w", "F8_E4M3", "[2]", b"\x7e\x7f")], 1)
st("DT-NAN", "f8-e5m2", [("w", "F8_E5M2", "[2]", b"\x7b\xfd")], 1)
st("DT-NAN", "f8-e4m3fnuz", [("w", "F8_E4M3FNUZ", "[2]", b"\x7f\x80")], 1)
st("DT-NAN", "f8-e5m2fnuz", [("w", "F8_E5M2FNUZ", "[2]", b"\xff\x80")], 1)
st("DT-NAN", "f8-e8m0", [("w", "F8_E8M0", "[2]", b"\x00\xff")], 1)
gg("DT-NAN", "big-endian", 0, [2], struct.pack(">2f", 1, NAN), 4, BIG)
st("DT-INFINITE", "f32", [("w", "F32", "[3]", struct.pack("<3f", 1, 2, -INFINITY))], 8)
st("DT-INFINITE", "f16", [("w", "F16", "[2]", bytes.fromhex("ff7b 007c"))], 2)
st("DT-INFINITE", "bf16", [("w", "BF16", "[2]", bytes.fromhex("7f7f 807f"))], 2)
st("DT-INFINITE", "f8-e5m2", [("w", "F8_E5M2", "[2]", b"\x7b\xfc")], 1)
st("DT-INFINITE", "c64-real", [("w", "C64", "[1]", struct.pack("<2f", INFINITY, 0))], 0)
gg("DT-INFINITE", "big-endian-f16", 1, [2], bytes.fromhex("7bff fc00"), 2, BIG)
gg("DT-SCALE", "q8-0", 8, [64], bytes.fromhex("003c") + b"\1" * 32 + bytes.fromhex("007c") + b"\1" * 32, 34)
gg("DT-SCALE", "q4-1-minimum", 3, [32], bytes.fromhex("003c 01fe") + b"\1" * 16, 0)
gg("DT-SCALE", "mxfp4", 39, [32], b"\xff" + b"\x11" * 16, 0)
gg("DT-SCALE", "q8-0-big-endian", 8, [32], bytes.fromhex("7c00") + b"\1" * 32, 0, BIG)
st("DT-ZERO", "f32-negative", [("a", "U8", "[4]", b"\1\0\0\0"), ("w", "F32", "[2]", bytes.fromhex("00000000 00000080"))], 4)
st("DT-ZERO", "u8", [("w", "U8", "[4]", bytes(4))], 0)
gg("DT-ZERO", "q4-0-of-no-scale", 2, [32], bytes(2) + b"\x88" * 16, 0)
