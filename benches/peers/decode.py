"""Decodes blocks with gguf-py when it is told to. For the binary `decode`, which speaks to it over pipes.

In comes a line with a type and a number of bytes, and the bytes; then, a line each, `time` (the answer is the seconds of
processor time that decoding took) and `send` (the same, and the elements as F32). A new type may follow at any time.
"""

import os

# numpy's threads would not be counted.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import sys
import time

import gguf
import numpy
from importlib.metadata import version

stdin, stdout = sys.stdin.buffer, sys.stdout.buffer
stdout.write(f"gguf {version('gguf')}, numpy {numpy.__version__}\n".encode())
stdout.flush()
kind, blocks = None, None
while line := stdin.readline().decode().split():
    if line == ["quit"]:
        break
    if len(line) == 2:
        kind = gguf.GGMLQuantizationType[line[0].upper()]
        blocks = numpy.frombuffer(stdin.read(int(line[1])), dtype=numpy.uint8)
        continue
    start = time.thread_time()
    values = gguf.quants.dequantize(blocks, kind)
    seconds = time.thread_time() - start
    stdout.write(f"{seconds:.9f}\n".encode())
    if line == ["send"]:
        stdout.write(values.astype("<f4").tobytes())
    stdout.flush()
