"""Writes files with the Python package, and says what is in them.

Usage: write.py FOLDER

Writes FOLDER/*.safetensors and FOLDER/expected.json, a list of
{"path", "metadata": object or null, "tensors": [{"name", "dtype", "shape", "hex"}]}.
"""

import json
import os
import sys

import numpy
import safetensors
import safetensors.numpy

TAGS = {
    "bool": "BOOL", "uint8": "U8", "int8": "I8", "int16": "I16", "uint16": "U16", "float16": "F16", "int32": "I32",
    "uint32": "U32", "float32": "F32", "complex64": "C64", "float64": "F64", "int64": "I64", "uint64": "U64",
}


def array(dtype, *shape):
    """An array of no particular values, the same each time."""
    count = int(numpy.prod(shape, dtype=numpy.int64))
    values = (numpy.arange(count) * 37 + 11) % 101
    if dtype == "bool":
        values = values % 2
    elif dtype == "complex64":
        values = values + 1j * (values[::-1] - 50)
    elif dtype.startswith(("float", "int")):
        values = values - 50
    return values.astype(dtype).reshape(shape)


def cases():
    """Name of the file, arrays, metadata."""
    for name in TAGS:
        yield f"one-{name}", {"w": array(name, 2, 3)}, None
    yield "mixed", {f"layer.{i}.{name}": array(name, 3, i + 1) for i, name in enumerate(TAGS)}, {"format": "np"}
    yield "scalars", {name: array(name) for name in TAGS}, None
    yield "zero-size", {
        "a": array("float32", 0), "b": array("float32", 2), "c": array("int64", 3, 0, 2), "d": array("uint8", 0, 0),
    }, None
    yield "ranks", {"x" * rank: array("float16", *[2] * rank) for rank in range(1, 9)}, None
    yield "names", {name: array("uint8", 1) for name in [
        "", " ", "\"", "\\", "/", "a\nb", "\x00", "\x1f", "\x7f", "\u00e9", "\u65e5\u672c", "\U0001f600", "\u2028", "n" * 3000,
    ]}, None
    yield "metadata", {"w": array("float32", 4)}, {
        "format": "pt", "": "empty key", "k\"\\\n\u00e9\x01": "v\t\u65e5\U0001f600", "empty value": "", "long": "x" * 5000,
    }
    yield "empty-metadata", {"w": array("float32", 4)}, {}
    yield "no-tensors", {}, {"only": "metadata"}
    yield "nothing", {}, None
    special = numpy.array([numpy.nan, numpy.inf, -numpy.inf, -0.0, 1e-45, 3.4028235e38], dtype="float32")
    yield "special-floats", {"w": special, "h": numpy.array([65504, -0.0, numpy.inf], dtype="float16")}, None


def main():
    folder = sys.argv[1]
    expected = []
    for name, arrays, metadata in cases():
        path = os.path.join(folder, f"{name}.safetensors")
        safetensors.numpy.save_file(arrays, path, metadata=metadata)
        tensors = [
            {"name": key, "dtype": TAGS[value.dtype.name], "shape": list(value.shape), "hex": value.tobytes().hex()}
            for key, value in arrays.items()
        ]
        expected.append({"path": path, "metadata": metadata, "tensors": tensors})
    with open(os.path.join(folder, "expected.json"), "w", encoding="utf-8") as file:
        json.dump(expected, file)
    print(f"{len(expected)} files written")


if __name__ == "__main__":
    main()
