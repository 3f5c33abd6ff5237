"""Writes sharded models as Hugging Face's libraries do: shards by `safetensors`, the index by `json`.

Usage: sharded_write.py FOLDER

Also writes FOLDER/expected.json: a list of {"folder", "tensors": [{"name", "dtype", "shape", "hex"}]}.
"""

import json
import os
import sys

import numpy
import safetensors.numpy

DTYPES = {"F32": "float32", "F16": "float16", "I64": "int64", "U8": "uint8", "BOOL": "bool"}


def write(folder, count):
    os.mkdir(folder)
    random = numpy.random.default_rng(count)
    weight_map, tensors, total = {}, [], 0
    for number in range(1, count + 1):
        shard, arrays = f"model-{number:05}-of-{count:05}.safetensors", {}
        for at, (tag, dtype) in enumerate(DTYPES.items()):
            name = f"model.layers.{number}.é{at}.weight"
            array = random.integers(0, 2, size=(number, at + 1)).astype(dtype)
            arrays[name] = array
            weight_map[name] = shard
            total += array.nbytes
            tensors.append({"name": name, "dtype": tag, "shape": list(array.shape), "hex": array.tobytes().hex()})
        safetensors.numpy.save_file(arrays, os.path.join(folder, shard), metadata={"format": "pt"})
    index = {"metadata": {"total_size": total}, "weight_map": weight_map}
    with open(os.path.join(folder, "model.safetensors.index.json"), "w", encoding="utf-8") as file:
        file.write(json.dumps(index, indent=2, sort_keys=True) + "\n")
    return {"folder": folder, "tensors": tensors}


def main():
    folder = sys.argv[1]
    expected = [write(os.path.join(folder, str(count)), count) for count in (1, 2, 7)]
    with open(os.path.join(folder, "expected.json"), "w", encoding="utf-8") as file:
        json.dump(expected, file)


main()
