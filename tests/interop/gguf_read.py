"""Reads GGUF files that tensorgate wrote, and compares what Python shows with what was meant.

Usage: gguf_read.py EXPECTED.json

EXPECTED.json is a list of {"path", "big": bool, "alignment", "pairs": [{"key", "type", "element": type or null, "value"}],
"tensors": [{"name", "type", "shape", "hex"}]}. Floats are their bits; "hex" is little-endian for plain numbers, else as
in the file. Exit code 0 when all of it is so; else 1, with a line for each difference.
"""

import json
import struct
import sys

import gguf

differences = []

FLOATS = {gguf.GGUFValueType.FLOAT32: ("<f", "<I"), gguf.GGUFValueType.FLOAT64: ("<d", "<Q")}


def same(what, shown, meant):
    if shown != meant:
        differences.append(f"{what}: Python shows {shown!r}, meant {meant!r}")


def plain(value, kind):
    """A value as it stands in JSON."""
    if kind not in FLOATS:
        return value
    number, bits = FLOATS[kind]
    return struct.unpack(bits, struct.pack(number, value))[0]


def check_pair(path, field, pair):
    what = f"{path}: {pair['key']}"
    value = field.contents()
    same(f"{what}: type", field.types[0], pair["type"])
    if pair["element"] is None:
        same(f"{what}: value", plain(value, field.types[0]), pair["value"])
        return
    # An empty array shows no element type.
    if pair["value"]:
        same(f"{what}: element", field.types[1], pair["element"])
    same(f"{what}: value", [plain(one, field.types[-1]) for one in value], pair["value"])


def check_tensor(path, shown, meant):
    what = f"{path}: {meant['name']!r}"
    same(f"{what}: name", shown.name, meant["name"])
    same(f"{what}: type", shown.tensor_type, meant["type"])
    same(f"{what}: shape", list(reversed(shown.shape.tolist())), meant["shape"])
    data = shown.data.astype(shown.data.dtype.newbyteorder("<"))
    same(f"{what}: bytes", data.tobytes().hex(), meant["hex"])


def check(case):
    """Whether the file was looked at: this version of the package may not know a type."""
    path = case["path"]
    known = {kind.value for kind in gguf.GGMLQuantizationType}
    if any(tensor["type"] not in known for tensor in case["tensors"]):
        return False
    reader = gguf.GGUFReader(path)
    same(f"{path}: byte order", reader.endianess == gguf.GGUFEndian.BIG, case["big"])
    same(f"{path}: alignment", int(reader.alignment), case["alignment"])
    fields = [field for key, field in reader.fields.items() if not key.startswith("GGUF.")]
    same(f"{path}: keys", [field.name for field in fields], [pair["key"] for pair in case["pairs"]])
    same(f"{path}: tensors", len(reader.tensors), len(case["tensors"]))
    for field, pair in zip(fields, case["pairs"]):
        check_pair(path, field, pair)
    for shown, meant in zip(reader.tensors, case["tensors"]):
        check_tensor(path, shown, meant)
    return True


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        expected = json.load(file)
    read = sum(check(case) for case in expected)
    for line in differences:
        print(line)
    print(f"{read} of {len(expected)} files read, the others have types unknown there, {len(differences)} differences")
    return 1 if differences or read < len(expected) // 2 or not read else 0


if __name__ == "__main__":
    sys.exit(main())
