"""Reads files that tensorgate wrote, and compares what Python shows with what was meant.

Usage: read.py EXPECTED.json

EXPECTED.json is a list of {"path", "metadata": object or null, "tensors": [{"name", "dtype", "shape", "hex"}]}.
Exit code 0 when all of it is so; else 1, with a line for each difference.
"""

import json
import sys

import numpy
import safetensors
import safetensors.numpy

NUMPY = {
    "BOOL": "bool", "U8": "uint8", "I8": "int8", "I16": "int16", "U16": "uint16", "F16": "float16", "I32": "int32",
    "U32": "uint32", "F32": "float32", "C64": "complex64", "F64": "float64", "I64": "int64", "U64": "uint64",
}

differences = []


def same(what, shown, meant):
    if shown != meant:
        differences.append(f"{what}: Python shows {shown!r}, meant {meant!r}")


def check_raw(path, tensors):
    """Every dtype: the package's own reading, as tags and bytes."""
    with open(path, "rb") as file:
        shown = dict(safetensors.deserialize(file.read()))
    same(f"{path}: names", sorted(shown), sorted(tensor["name"] for tensor in tensors))
    for tensor in tensors:
        entry = shown.get(tensor["name"])
        if entry is None:
            continue
        what = f"{path}: {tensor['name']!r}"
        same(f"{what}: dtype", entry["dtype"], tensor["dtype"])
        same(f"{what}: shape", list(entry["shape"]), tensor["shape"])
        same(f"{what}: bytes", bytes(entry["data"]).hex(), tensor["hex"])


def check_numpy(path, metadata, tensors):
    """Dtypes that numpy has: as arrays, by both ways of opening."""
    loaded = safetensors.numpy.load_file(path)
    with safetensors.safe_open(path, framework="np") as opened:
        same(f"{path}: metadata", opened.metadata(), metadata)
        same(f"{path}: keys", sorted(opened.keys()), sorted(tensor["name"] for tensor in tensors))
        for tensor in tensors:
            for way, array in (("load_file", loaded[tensor["name"]]), ("safe_open", opened.get_tensor(tensor["name"]))):
                what = f"{path}: {tensor['name']!r} by {way}"
                same(f"{what}: dtype", array.dtype, numpy.dtype(NUMPY[tensor["dtype"]]))
                same(f"{what}: shape", list(array.shape), tensor["shape"])
                same(f"{what}: bytes", array.tobytes().hex(), tensor["hex"])


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        expected = json.load(file)
    arrays = 0
    for case in expected:
        path, tensors = case["path"], case["tensors"]
        check_raw(path, tensors)
        if all(tensor["dtype"] in NUMPY for tensor in tensors):
            check_numpy(path, case["metadata"], tensors)
            arrays += 1
    for line in differences:
        print(line)
    print(f"{len(expected)} files read, {arrays} of them as arrays, {len(differences)} differences")
    return 1 if differences or not expected else 0


if __name__ == "__main__":
    sys.exit(main())
