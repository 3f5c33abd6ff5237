#!/usr/bin/env python3
"""Writes tests/data/encode.json: values, and the blocks that ggml makes of them, for each type that can be encoded.

    pip install numpy llama-cpp-python==0.3.36     # builds ggml 0.25.3
    python3 scripts/encode_vectors.py

The blocks come from `ggml_quantize_chunk` without an importance matrix (F16 and BF16: `ggml_fp32_to_fp16_row` and
`ggml_fp32_to_bf16_row_ref`) of `libggml-base.so` for x86-64, whose build fuses no operations.
"""

import json
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests/interop"))
import ggml_base  # noqa: E402

TYPES = ["F16", "BF16", "Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q4_K", "Q5_K", "Q6_K", "IQ4_NL", "MXFP4"]


def rows():
    """Named rows of 256 values; sparse in digits, so that the file stays small."""
    random = np.random.default_rng(7)
    at = np.arange(256, dtype=np.float32)
    normal = random.normal(0, 1, 256)
    yield "normal", normal * 0.02
    yield "outlier", np.where(at == 100, -40.0, normal * 0.1)
    yield "positive", np.abs(normal)
    yield "negative", -np.abs(normal)
    yield "zeros", at * 0
    yield "negative zeros", at * -0.0
    yield "constant", at * 0 - 0.3
    yield "half zeros", np.where(at < 128, 0, normal)
    yield "zeros of both signs", np.where(at % 3 == 0, normal, at * -0.0)
    yield "ramp", (at - 128) / 16
    yield "ties", random.integers(-16, 17, 256) / 2.0
    yield "powers", 2.0 ** random.integers(-10, 10, 256) * np.where(at % 2, 1, -1)
    # One below each power of two: where a logarithm rounds up.
    below = np.nextafter((2.0 ** (at // 32 * 5 - 20)).astype(np.float32), np.float32(0))
    yield "below powers", np.where(at % 32 == 7, below, below / 3)
    yield "tiny", normal * 1e-9
    # Scales that are subnormal halves; groups that count as zeros in the K-quants.
    yield "subnormal scales", normal * 3e-6
    yield "nothing", normal * 1e-16
    yield "large", normal * 20000


def main():
    library = ggml_base.load()
    if library is None:
        sys.exit("llama-cpp-python is not installed")
    made = []
    for name, values in rows():
        values = values.astype("<f4")
        blocks = {kind: ggml_base.encode(library, kind, values).tobytes().hex() for kind in TYPES}
        made.append({"name": name, "values": values.tobytes().hex(), "blocks": blocks})
    text = ",\n".join(json.dumps(row, separators=(",", ":")) for row in made)
    (ROOT / "tests/data/encode.json").write_text(f"[\n{text}\n]\n")


if __name__ == "__main__":
    main()
