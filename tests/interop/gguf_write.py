"""Writes GGUF files with the Python package, and says what is in them.

Usage: gguf_write.py FOLDER

Writes FOLDER/*.gguf and FOLDER/expected.json, a list of {"path", "big": bool, "alignment",
"pairs": [{"key", "type", "element": type or null, "value"}], "tensors": [{"name", "type", "shape", "hex"}]}.
Floats are their bits; "hex" is as in the file.
"""

import json
import os
import struct
import sys

import gguf
import numpy

Type = gguf.GGUFValueType
Quant = gguf.GGMLQuantizationType

SCALARS = [
    (Type.UINT8, [0, 255]), (Type.INT8, [-128, 127]), (Type.UINT16, [0, 65535]), (Type.INT16, [-32768, 32767]),
    (Type.UINT32, [0, 2**32 - 1]), (Type.INT32, [-(2**31), 2**31 - 1]), (Type.BOOL, [True, False]),
    (Type.UINT64, [1, 2**64 - 1]), (Type.INT64, [-(2**63), 2**63 - 1]), (Type.STRING, ["", "a\u00e9\u65e5\U0001f600\0\n"]),
    (Type.FLOAT32, [-0.0, 1.5, float("inf"), 2.0**-149]), (Type.FLOAT64, [0.1, -1e308, float("-inf"), 5e-324]),
]


def plain(value, kind):
    """A value as it stands in JSON."""
    if kind == Type.FLOAT32:
        return struct.unpack("<I", struct.pack("<f", value))[0]
    if kind == Type.FLOAT64:
        return struct.unpack("<Q", struct.pack("<d", value))[0]
    return value


def every_value():
    for kind, values in SCALARS:
        for index, value in enumerate(values):
            yield f"one.{kind.name.lower()}-{index}", kind, None, value
        yield f"many.{kind.name.lower()}", Type.ARRAY, kind, values * 3


def plain_tensors():
    for dtype in ("float32", "float16", "float64", "int8", "int16", "int32", "int64"):
        count = 7
        values = ((numpy.arange(count * 3) * 37 + 11) % 101 - 50).astype(dtype)
        yield f"plain.{dtype}", values.reshape(3, count), None


def block_tensors():
    """Raw bytes, a row of blocks after another."""
    for kind in (Quant.Q8_0, Quant.Q4_0, Quant.Q6_K):
        size = gguf.GGML_QUANT_SIZES[kind][1]
        values = (numpy.arange(size * 2 * 3) * 31 % 256).astype("uint8")
        yield f"blocks.{kind.name}", values.reshape(3, size * 2), kind


def write(path, big, alignment, values, tensors):
    """Writes a file; says what is in it."""
    writer = gguf.GGUFWriter(path, "test", endianess=gguf.GGUFEndian.BIG if big else gguf.GGUFEndian.LITTLE)
    pairs = [{"key": "general.architecture", "type": Type.STRING, "element": None, "value": "test"}]
    if alignment is not None:
        writer.add_custom_alignment(alignment)
        pairs.append({"key": "general.alignment", "type": Type.UINT32, "element": None, "value": alignment})
    for key, kind, element, value in values:
        writer.add_key_value(key, value, kind, sub_type=element)
        shown = [plain(one, element) for one in value] if element is not None else plain(value, kind)
        pairs.append({"key": key, "type": kind, "element": element, "value": shown})
    entries = []
    for name, array, kind in tensors:
        writer.add_tensor(name, array, raw_dtype=kind)
        shape = array.shape if kind is None else gguf.quant_shape_from_byte_shape(array.shape, kind)
        order = array.astype(array.dtype.newbyteorder(">" if big else "<"))
        kind = Quant[{"f": "F", "i": "I"}[array.dtype.kind] + str(array.dtype.itemsize * 8)] if kind is None else kind
        entries.append({"name": name, "type": kind, "shape": list(shape), "hex": order.tobytes().hex()})
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    if entries:
        writer.write_tensors_to_file()
    writer.close()
    return {"path": path, "big": big, "alignment": alignment or 32, "pairs": pairs, "tensors": entries}


def main():
    folder = sys.argv[1]
    expected = []
    for big in (False, True):
        for alignment in (None, 8, 32, 256):
            for name, values, tensors in [
                ("nothing", [], []),
                ("values", every_value(), []),
                ("plain", [], plain_tensors()),
                ("blocks", [], block_tensors()),
                ("all", every_value(), [*plain_tensors(), *block_tensors()]),
            ]:
                path = os.path.join(folder, f"{name}-{'be' if big else 'le'}-{alignment}.gguf")
                expected.append(write(path, big, alignment, values, tensors))
    with open(os.path.join(folder, "expected.json"), "w", encoding="utf-8") as file:
        json.dump(expected, file)
    print(f"{len(expected)} files written")


if __name__ == "__main__":
    main()
