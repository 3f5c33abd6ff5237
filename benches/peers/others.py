#!/usr/bin/env python3
"""GPT-2 side by side with PyTorch (transformers) and CTranslate2, taking turns in one run.

usage: benches/peers/others.py TENSORGATE FOLDER [--threads 1,2] [--rounds 3] [--gguf Q8_0.gguf]

FOLDER is a Hugging Face checkpoint with its vocabulary: config.json, model.safetensors, vocab.json, merges.txt
(`tools/make_gpt2.py` makes the weights). Ours runs the same safetensors file, with `--quantize q8_0 --repack` beside CTranslate2's
int8. Prints medians of a prompt of 512 and of 128 tokens one by one, in tokens a second, with ratios to ours. Needs PyPI's
torch, transformers and ctranslate2; nothing of them is shipped.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

PROMPT = [(17 * i + 3) % 50000 for i in range(512)]


def ours(program, path, threads, extra):
    command = [program, "bench", path, "--rounds", "1", "--threads", str(threads), "--json", *extra]
    found = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    rates = {(entry["what"], entry["tokens"]): entry["tokens_per_second"] for entry in found["measured"]}
    return rates["prefill", 512], rates["decode", 128]


def torch_model(folder, dtype):
    import torch
    import transformers

    return transformers.GPT2LMHeadModel.from_pretrained(folder, dtype=dtype).eval(), torch


def torch_round(model, torch, threads):
    torch.set_num_threads(threads)
    with torch.inference_mode():
        start = time.perf_counter()
        model(torch.tensor([PROMPT]), use_cache=True, logits_to_keep=1)
        prefill = 512 / (time.perf_counter() - start)
        past = model(torch.tensor([[3]]), use_cache=True).past_key_values
        start = time.perf_counter()
        for i in range(128):
            past = model(torch.tensor([[(31 * i + 7) % 50000]]), past_key_values=past, use_cache=True).past_key_values
        return prefill, 128 / (time.perf_counter() - start)


def ct2_model(folder, kind, threads):
    import ctranslate2

    out = pathlib.Path(tempfile.mkdtemp()) / kind
    ctranslate2.converters.TransformersConverter(str(folder)).convert(str(out), quantization=kind)
    return ctranslate2.Generator(str(out), device="cpu", compute_type=kind, intra_threads=threads, inter_threads=1)


def ct2_round(generator, words):
    prompt = [words[token] for token in PROMPT]
    start = time.perf_counter()
    generator.generate_batch([prompt], max_length=1, include_prompt_in_result=False)
    prefill = 512 / (time.perf_counter() - start)
    start = time.perf_counter()
    generator.generate_batch([prompt[:1]], max_length=129, min_length=129, include_prompt_in_result=False)
    return prefill, 129 / (time.perf_counter() - start)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="torch-f32,torch-bf16,ct2-f32,ct2-int8")
    args = parser.parse_args()
    vocabulary = json.loads((args.folder / "vocab.json").read_text(encoding="utf-8"))
    words = {number: word for word, number in vocabulary.items()}
    path = str(args.folder / "model.safetensors")
    only = args.only.split(",")
    for threads in map(int, args.threads.split(",")):
        ways = {"tensorgate F32": lambda: ours(args.program, path, threads, [])}
        if "ct2-int8" in only:
            extra = ["--quantize", "q8_0", "--repack"]
            ways["tensorgate Q8_0, packed"] = lambda: ours(args.program, path, threads, extra)
        for name in only:
            library, kind = name.split("-")
            if library == "torch":
                model, torch = torch_model(args.folder, {"f32": "float32", "bf16": "bfloat16"}[kind])
                ways[f"PyTorch {kind}"] = lambda model=model, torch=torch: torch_round(model, torch, threads)
            elif library == "ct2":
                generator = ct2_model(args.folder, {"f32": "float32", "int8": "int8"}[kind], threads)
                ways[f"CTranslate2 {kind}"] = lambda generator=generator: ct2_round(generator, words)
            else:
                sys.exit(f"{name} is none of torch-f32, torch-bf16, ct2-f32, ct2-int8")
        for way in ways.values():
            way()
        rates = {name: [] for name in ways}
        for _ in range(args.rounds):
            for name, way in ways.items():
                rates[name].append(way())
        medians = {name: [statistics.median(column) for column in zip(*rows)] for name, rows in rates.items()}
        for name, (prefill, decode) in medians.items():
            print(f"{name:<26}{threads:>2} prefill 512 {prefill:>9.1f}   decode 128 {decode:>9.1f}", flush=True)


if __name__ == "__main__":
    main()
