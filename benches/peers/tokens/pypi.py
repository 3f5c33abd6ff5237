"""Tokenizers from PyPI on the text of `cargo bench --bench tokens`, with GPT-2's vocabulary, one thread.

    TOKENS_TEXT=text cargo bench --bench tokens && python pypi.py VOCABULARY text

VOCABULARY is a folder with GPT-2's `vocab.json` and `merges.txt`. Those that are installed take turns; the time is the
processor's for this thread, least and median of the passes behind the first. Tokens are compared with tiktoken's.
"""

import os

# Threads of their own would not be counted.
os.environ.setdefault("RAYON_NUM_THREADS", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

import importlib.metadata
import json
import pathlib
import statistics
import sys
import tempfile
import time

PASSES = 5
PATTERN = r"""'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"""

folder, path = map(pathlib.Path, sys.argv[1:3])
data = path.read_bytes()
text = data.decode()
vocab = json.loads((folder / "vocab.json").read_text(encoding="utf-8"))
lines = (folder / "merges.txt").read_text(encoding="utf-8").split("\n")
merges = [line for line in lines if line and not line.startswith("#version")]
step = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
# Without the special token, which some would find in the text.
model = {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": "", "end_of_word_suffix": "",
         "fuse_unk": False, "byte_fallback": False, "vocab": vocab, "merges": merges}
whole = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None,
         "pre_tokenizer": step, "post_processor": None, "decoder": step, "model": model}
with tempfile.NamedTemporaryFile("w", suffix=".json", delete=False) as file:
    json.dump(whole, file)

printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
others = [byte for byte in range(256) if byte not in printable]
byte_of = {chr(byte): byte for byte in printable} | {chr(256 + at): byte for at, byte in enumerate(others)}
ranks = {bytes(byte_of[c] for c in token): rank for token, rank in vocab.items() if token != "<|endoftext|>"}


def tiktoken():
    import tiktoken
    return tiktoken.Encoding("gpt2", pat_str=PATTERN, mergeable_ranks=ranks, special_tokens={}).encode_ordinary


def gigatoken():
    import gigatoken
    tokenizer = gigatoken.Tokenizer(file.name)
    return lambda text: tokenizer.encode(data)


def fastokens():
    import fastokens._native
    tokenizer = fastokens._native.Tokenizer.from_file(file.name) if hasattr(
        fastokens._native, "Tokenizer") else fastokens.Tokenizer.from_file(file.name)
    return tokenizer.encode


def riptoken():
    import riptoken
    return riptoken.CoreBPE(ranks, {}, PATTERN.replace("++", "+").replace(r"\s+$|", "")).encode_ordinary


def tokenizers():
    import tokenizers
    tokenizer = tokenizers.Tokenizer.from_file(file.name)
    return lambda text: tokenizer.encode(text).ids


print(f"MB/s of one thread's processor time: first pass, then best (median) of {PASSES}; {len(data)} bytes")
want = None
for name in ["tiktoken", "gigatoken", "fastokens", "riptoken", "tokenizers"]:
    try:
        encode, version = globals()[name](), importlib.metadata.version(name)
    except Exception as error:  # Not installed, or another version with other names.
        print(f"{name}: left out ({type(error).__name__}: {error})")
        continue
    passes, rates = 1 if name == "tokenizers" else 1 + PASSES, []
    for _ in range(passes):
        start = time.thread_time()
        ids = encode(text)
        rates.append(len(data) / 1e6 / (time.thread_time() - start))
    ids = [int(id) for id in (ids.ids if hasattr(ids, "ids") else ids)]
    want = want or ids
    later = rates[1:] or rates
    same = "the same tokens" if ids == want else "OTHER TOKENS"
    print(f"{name} {version}: {rates[0]:.1f}   {max(later):.1f} ({statistics.median(later):.1f})   {same}", flush=True)
os.unlink(file.name)
