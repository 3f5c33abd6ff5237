#!/usr/bin/env python3
"""GPT-2 side by side with CTranslate2 or PyTorch, in turns in one run.

usage: benches/peers/gpt2_python.py TENSORGATE OURS PEER FOLDER [--threads 1,2] [--rounds 3] [-- OPTION...]

OURS is the model that `tensorgate bench` runs, with the OPTIONs. PEER and FOLDER are one of

    ctranslate2 FOLDER     what `ct2-transformers-converter --model CHECKPOINT --output_dir FOLDER` writes, with
                           `--quantization int8` for 8 bits
    torch-float32 FOLDER   the checkpoint itself (config.json, model.safetensors), through `transformers`
    torch-bfloat16 FOLDER

Prints medians of a prompt of 512 and of decoding 128 tokens one by one, in tokens a second, and their ratios.
"""
import argparse
import json
import statistics
import sys
import time

from gpt2 import ours_round

PROMPT = [(17 * i + 3) % 50000 for i in range(512)]


def ctranslate(folder, threads):
    import ctranslate2

    generator = ctranslate2.Generator(folder, device="cpu", inter_threads=1, intra_threads=threads)
    with open(folder + "/vocabulary.json", encoding="utf-8") as file:
        words = json.load(file)

    def generate(tokens, count):
        start = time.perf_counter()
        done = generator.generate_batch(
            [[words[token] for token in tokens]],
            min_length=count,
            max_length=count,
            include_prompt_in_result=False,
            end_token=[],
        )
        assert len(done[0].sequences_ids[0]) == count
        return time.perf_counter() - start

    generate([3], 4)

    def once():
        prefill = 512 / generate(PROMPT, 1)
        # The first token comes with the prompt.
        return prefill, 127 / (generate([3], 128) - generate([3], 1))

    return once


def torch(kind, folder, threads):
    import torch as library
    import transformers

    library.set_num_threads(threads)
    # A single token is the same whatever attention is asked for; a prompt is fastest with the fused one.
    model = transformers.GPT2LMHeadModel.from_pretrained(
        folder, dtype=getattr(library, kind), attn_implementation="sdpa"
    ).eval()

    def step(tokens, past):
        out = model(library.tensor([tokens]), past_key_values=past, use_cache=True, logits_to_keep=1)
        return out.past_key_values

    def once():
        with library.inference_mode():
            start = time.perf_counter()
            step(PROMPT, None)
            prefill = 512 / (time.perf_counter() - start)
            past = step([3], None)
            start = time.perf_counter()
            for i in range(128):
                past = step([(31 * i + 7) % 50000], past)
            return prefill, 128 / (time.perf_counter() - start)

    once()
    return once


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("ours")
    parser.add_argument("peer", choices=["ctranslate2", "torch-float32", "torch-bfloat16"])
    parser.add_argument("folder")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--rounds", type=int, default=3)
    arguments, extra = sys.argv[1:], []
    if "--" in arguments:
        at = arguments.index("--")
        arguments, extra = arguments[:at], arguments[at + 1 :]
    options = parser.parse_args(arguments)
    for threads in map(int, options.threads.split(",")):
        name, _, kind = options.peer.partition("-")
        theirs = torch(kind, options.folder, threads) if name == "torch" else ctranslate(options.folder, threads)
        rounds = [
            (*ours_round(options.program, options.ours, threads, extra)[:2], *theirs()) for _ in range(options.rounds)
        ]
        prefill, decode, their_prefill, their_decode = map(statistics.median, zip(*rounds))
        print(
            f"{threads} thread{'s' if threads > 1 else ''}: prefill 512 {prefill:.0f}, {options.peer} {their_prefill:.0f}, "
            f"{prefill / their_prefill:.2f} times as fast; decode 128 {decode:.1f}, {options.peer} {their_decode:.1f}, "
            f"{decode / their_decode:.2f} times",
            flush=True,
        )


if __name__ == "__main__":
    main()
