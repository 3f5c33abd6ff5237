"""Writes whole models with the Python packages, and says what is in them.

Usage: model_write.py [FOLDER]

Without a folder, says whether the packages are there: exit code 0, or 3 and the reason. Else writes FOLDER/split (a split
GGUF model), FOLDER/sharded (safetensors shards and their index), and FOLDER/expected.json: {"split": tensors, "sharded":
tensors}, tensors being a list of {"name", "type", "shape", "hex"} by name.
"""

import json
import os
import sys

try:
    import gguf
    import numpy
    import safetensors
    import safetensors.numpy
except ImportError as error:
    print(error)
    sys.exit(3)

TYPES = {"float32": "F32", "float16": "F16", "int32": "I32", "int8": "I8"}


def arrays():
    for layer in range(3):
        for index, dtype in enumerate(TYPES):
            count = 2 + layer * 5 + index
            values = (numpy.arange(count * 3) * 37 + layer) % 101 - 50
            yield f"layers.{layer}.{dtype}", values.reshape(3, count).astype(dtype)


def shown(name, array):
    return {"name": name, "type": TYPES[str(array.dtype)], "shape": list(array.shape), "hex": array.tobytes().hex()}


def split(folder):
    os.mkdir(folder)
    writer = gguf.GGUFWriter(os.path.join(folder, "model.gguf"), "llama", split_max_tensors=5)
    writer.add_string("general.name", "of Python")
    for name, array in arrays():
        writer.add_tensor(name, array)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def sharded(folder):
    os.mkdir(folder)
    tensors = list(arrays())
    shards = [dict(tensors[start::3]) for start in range(3)]
    weight_map = {}
    for number, shard in enumerate(shards, 1):
        name = f"model-{number:05}-of-{len(shards):05}.safetensors"
        safetensors.numpy.save_file(shard, os.path.join(folder, name), metadata={"format": "np"})
        weight_map.update(dict.fromkeys(shard, name))
    total = sum(array.nbytes for _, array in tensors)
    with open(os.path.join(folder, "model.safetensors.index.json"), "w", encoding="utf-8") as file:
        json.dump({"metadata": {"total_size": total}, "weight_map": weight_map}, file, indent=2, sort_keys=True)


def main():
    if len(sys.argv) < 2:
        print(f"safetensors {safetensors.__version__}, numpy {numpy.__version__}, and gguf")
        return
    folder = sys.argv[1]
    split(os.path.join(folder, "split"))
    sharded(os.path.join(folder, "sharded"))
    expected = [shown(name, array) for name, array in sorted(arrays())]
    with open(os.path.join(folder, "expected.json"), "w", encoding="utf-8") as file:
        json.dump({"split": expected, "sharded": expected}, file)
    print(f"{len(os.listdir(os.path.join(folder, 'split')))} files of a split, {len(expected)} tensors")


main()
