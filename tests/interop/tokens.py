"""Holds tokens against tiktoken, whose gpt2 encoding is built from files since there may be no network.

Usage: tokens.py EXPECTED.json

EXPECTED.json is {"vocab": path of vocab.json, "cases": [{"text", "ids"}]}. Exit code 0 when tiktoken gives the same ids for
each text; else 1, with a line for each difference. Without an argument: 0 and the version, or 3 where it is missing.
"""

import json
import sys

try:
    import tiktoken
except ImportError:
    print("the Python package tiktoken is not installed")
    sys.exit(3)

PATTERN = r"""'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"""


def symbols():
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    moved = [byte for byte in range(256) if byte not in plain]
    return {chr(byte): byte for byte in plain} | {chr(0x100 + n): byte for n, byte in enumerate(moved)}


def main():
    if len(sys.argv) == 1:
        print(f"tiktoken {tiktoken.__version__}")
        return
    with open(sys.argv[1], encoding="utf-8") as file:
        expected = json.load(file)
    with open(expected["vocab"], encoding="utf-8") as file:
        vocab = json.load(file)
    special = {"<|endoftext|>": vocab.pop("<|endoftext|>")}
    table = symbols()
    ranks = {bytes(table[symbol] for symbol in token): rank for token, rank in vocab.items()}
    encoding = tiktoken.Encoding("gpt2", pat_str=PATTERN, mergeable_ranks=ranks, special_tokens=special)
    wrong = 0
    for case in expected["cases"]:
        ids = encoding.encode_ordinary(case["text"])
        if ids != case["ids"]:
            wrong += 1
            print(f"{case['text']!r}: tiktoken {ids}, tensorgate {case['ids']}")
    print(f"{len(expected['cases'])} texts, {wrong} differ")
    sys.exit(1 if wrong else 0)


main()
