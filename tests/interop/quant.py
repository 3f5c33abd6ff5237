"""Random blocks of every type and what `gguf` (and ggml itself, where it is installed) makes of them; random values and
the blocks that those make of them.

    python3 quant.py FOLDER

FOLDER/count holds the number of blocks of each type. Written are TYPE.blocks; TYPE.gguf.f32 and TYPE.ggml.f32, their
elements; TYPE.valid, a byte for each of the first blocks; values; TYPE.gguf.enc and TYPE.ggml.enc, the values encoded.
"""

import sys
from pathlib import Path

import gguf
import numpy as np
from gguf import quants

import ggml_base

np.seterr(all="ignore")
ENCODED = ["F16", "BF16", "Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q4_K", "Q5_K", "Q6_K", "IQ4_NL", "MXFP4"]
# What `gguf` can encode; of these it says, or its test does, that they are bit-equal with ggml.
BY_GGUF = ["F16", "BF16", "Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "MXFP4"]


def values(random, rows):
    """Rows of 256 values: of all sizes and shapes."""

    def row(at):
        size = 10.0 ** random.uniform(-6, 3)
        match at % 12:
            case 0 | 1 | 2:
                made = random.normal(0, size, 256)
            case 3:
                made = random.uniform(-size, size, 256)
            case 4:
                made = random.laplace(size, size, 256)
            case 5:
                made = random.normal(0, size, 256) * (random.random(256) < 0.1)
            case 6:
                made = np.full(256, random.normal(0, size))
            case 7:
                made = random.normal(0, size, 256)
                made[random.integers(256)] *= 300
            case 8:
                made = np.abs(random.normal(0, size, 256))
            case 9:
                made = -np.abs(random.normal(0, size, 256))
            case 10:
                # Ties: whole numbers, halves, powers of two and their neighbours.
                made = random.integers(-16, 17, 256) / 2.0
            case _:
                powers = 2.0 ** random.integers(-12, 12, 256) * random.choice([-1, 1], 256)
                made = np.nextafter(powers.astype(np.float32), random.choice([-1e9, 0, 1e9], 256).astype(np.float32))
        made = made.astype(np.float32)
        if at % 29 == 0:
            made[random.integers(256) :] = 0
        return made

    return np.concatenate([row(at) for at in range(rows)])


def main():
    folder = Path(sys.argv[1])
    count = int((folder / "count").read_text())
    random = np.random.default_rng(20)
    library = ggml_base.load()
    compared = []
    for name, (_, elements, size) in ggml_base.TYPES.items():
        if name == "F64":
            continue
        kind = gguf.GGMLQuantizationType.__members__.get(name)
        number = count * max(1, 16 // elements)
        blocks = random.integers(0, 256, (number, size), np.uint8)
        (folder / f"{name}.blocks").write_bytes(blocks.tobytes())
        if kind is not None and (kind in quants._type_traits or name in ("F32", "F16")):
            elements = quants.dequantize(blocks.reshape(-1), kind)
            (folder / f"{name}.gguf.f32").write_bytes(elements.astype("<f4", copy=False).tobytes())
            compared.append(name)
        if library and name not in ("F32", "F16", "BF16"):
            ggml_base.decode(library, name, blocks).tofile(folder / f"{name}.ggml.f32")
        if library:
            ggml_base.valid(library, name, blocks[:1000]).tofile(folder / f"{name}.valid")
    made = values(random, max(24, count // 16))
    made.tofile(folder / "values")
    positive = made + np.float32(0)
    for name in ENCODED:
        if name in BY_GGUF:
            quants.quantize(positive, gguf.GGMLQuantizationType[name]).tofile(folder / f"{name}.gguf.enc")
        if library:
            ggml_base.encode(library, name, made).tofile(folder / f"{name}.ggml.enc")
    print(f"{len(compared)} types by gguf" + (", all by ggml" if library else ""))


main()
