"""Reads sharded models that tensorgate saved, as Hugging Face's libraries do it: the index, then each shard that it names.

Usage: sharded_read.py EXPECTED.json

EXPECTED.json is a list of {"folder", "most", "metadata", "tensors": [{"name", "dtype", "shape", "hex"}]}, the tensors in
the order in which they were given. Exit code 0 when all of it is so; else 1, with a line for each difference.
"""

import json
import os
import sys

import numpy
import safetensors

try:
    from huggingface_hub import split_state_dict_into_shards_factory
except ImportError:
    split_state_dict_into_shards_factory = None

differences = []


def same(what, shown, meant):
    if shown != meant:
        differences.append(f"{what}: Python shows {shown!r}, meant {meant!r}")


def generation(name):
    """The name without the number of its generation, as a first save in an empty folder would have it."""
    parts = name.split("-")
    return "-".join(part for part in parts if not part.startswith("gen"))


def check(case):
    folder, tensors = case["folder"], case["tensors"]
    path = os.path.join(folder, "model.safetensors.index.json")
    with open(path, encoding="utf-8") as file:
        text = file.read()
    index = json.loads(text)
    same(f"{path}: spelling", text, json.dumps(index, indent=2, sort_keys=True, ensure_ascii=False) + "\n")
    sizes = {tensor["name"]: len(tensor["hex"]) // 2 for tensor in tensors}
    same(f"{path}: total_size", index["metadata"]["total_size"], sum(sizes.values()))
    weight_map = index["weight_map"]
    same(f"{path}: names", sorted(weight_map), sorted(sizes))
    files = sorted(set(weight_map.values()))
    there = sorted(name for name in os.listdir(folder) if name.endswith(".safetensors"))
    same(f"{path}: files", there, files)
    shown = {}
    for name in files:
        with safetensors.safe_open(os.path.join(folder, name), framework="np") as shard:
            same(f"{folder}/{name}: metadata", shard.metadata(), case["metadata"])
            for key in shard.keys():
                same(f"{path}: shard of {key!r}", weight_map[key], name)
                shown[key] = shard.get_tensor(key)
    for tensor in tensors:
        array = shown[tensor["name"]]
        what = f"{folder}: {tensor['name']!r}"
        same(f"{what}: shape", list(array.shape), tensor["shape"])
        same(f"{what}: bytes", array.tobytes().hex(), tensor["hex"])
    # Where no tensor is longer than a shard, Hugging Face's own code cuts at the same places.
    if split_state_dict_into_shards_factory and max(sizes.values()) <= case["most"]:
        split = split_state_dict_into_shards_factory(
            {name: numpy.zeros(size, dtype="uint8") for name, size in sizes.items()},
            get_storage_size=lambda tensor: tensor.nbytes,
            get_storage_id=lambda tensor: None,
            filename_pattern="model{suffix}.safetensors",
            max_shard_size=case["most"],
        )
        plain = {name: generation(shard) for name, shard in weight_map.items()}
        same(f"{path}: weight_map", plain, split.tensor_to_filename)
        return 1
    return 0


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        expected = json.load(file)
    split = sum(check(case) for case in expected)
    for line in differences:
        print(line)
    print(f"{len(expected)} sharded models read, {split} cut as huggingface_hub cuts, {len(differences)} differences")
    return 1 if differences or not expected else 0


if __name__ == "__main__":
    sys.exit(main())
