#!/usr/bin/env python3
"""GPT-2 side by side with llama.cpp (through llama-cpp-python), interleaved in one run.

usage: benches/peers/gpt2.py TENSORGATE MODEL.gguf... [--threads 1,2] [--rounds 5] [--repack]

Prints the medians of decoding 128 tokens one by one and of a prompt of 512, in tokens a second, and their ratios. The
models are GGUF files that both run; `tools/make_gpt2.py` and `tensorgate quantize` make them. Memory bandwidth on shared
machines comes in regimes, so only ratios of one run are results. With `--repack` the packed copy is measured in the same
rounds, on a line of its own.
"""
import argparse
import json
import statistics
import subprocess
import sys
import time


def llama(path, threads):
    import llama_cpp as ll

    parameters = ll.llama_model_default_params()
    model = ll.llama_model_load_from_file(path.encode(), parameters)
    context = ll.llama_context_default_params()
    context.n_ctx, context.n_batch, context.n_ubatch = 1024, 512, 512
    context.n_threads = context.n_threads_batch = threads
    return ll, model, ll.llama_init_from_model(model, context)


def decode(ll, context, tokens):
    batch = (ll.llama_token * len(tokens))(*tokens)
    if ll.llama_decode(context, ll.llama_batch_get_one(batch, len(tokens))) != 0:
        sys.exit("llama_decode failed")


def clear(ll, context):
    ll.llama_memory_clear(ll.llama_get_memory(context), True)


def llama_round(ll, context):
    """Rates of one round: a prompt of 512, then 128 tokens one by one."""
    clear(ll, context)
    start = time.perf_counter()
    decode(ll, context, [(17 * i + 3) % 50000 for i in range(512)])
    prefill = 512 / (time.perf_counter() - start)
    clear(ll, context)
    decode(ll, context, [3])
    start = time.perf_counter()
    for i in range(128):
        decode(ll, context, [(31 * i + 7) % 50000])
    return prefill, 128 / (time.perf_counter() - start)


def ours_round(program, path, threads, extra):
    command = [program, "bench", path, "--rounds", "1", "--threads", str(threads), "--json", *extra]
    found = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    rates = {(entry["what"], entry["tokens"]): entry["tokens_per_second"] for entry in found["measured"]}
    return rates["prefill", 512], rates["decode", 128], found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("models", nargs="+")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--extra", default="", help="further options of `tensorgate bench`")
    parser.add_argument("--repack", action="store_true", help="measure the packed copy too")
    args = parser.parse_args()
    print(f"{'model':<24}{'T':>2}{'prefill 512':>24}{'ratio':>7}{'decode 128':>22}{'ratio':>7}   GB/s read")
    extra = args.extra.split()
    ways = [extra, [*extra, "--repack"]] if args.repack else [extra]
    for path in args.models:
        for threads in map(int, args.threads.split(",")):
            ll, model, context = llama(path, threads)
            theirs, ours, read = [], [[] for _ in ways], []
            llama_round(ll, context)
            for _ in range(args.rounds):
                theirs.append(llama_round(ll, context))
                for way, rates in zip(ways, ours):
                    found = ours_round(args.program, path, threads, way)
                    rates.append(found[:2])
                    read.append(found[2]["read_bytes_per_second"] / 1e9)
            ll.llama_free(context)
            ll.llama_model_free(model)
            for way, rates in zip(ways, ours):
                name = " ".join([path.rsplit("/", 1)[-1], *way])
                report(name, threads, medians(rates), medians(theirs), statistics.median(read))


def medians(rows):
    return [statistics.median(column) for column in zip(*rows)]


def report(name, threads, ours, theirs, read):
    cells = (f"{a:>12.1f} /{b:>9.1f}{a / b:>6.2f}x" for a, b in zip(ours, theirs))
    print(f"{name:<24}{threads:>2}{''.join(cells)}{read:>10.1f}", flush=True)


if __name__ == "__main__":
    main()
