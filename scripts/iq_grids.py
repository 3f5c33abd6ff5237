#!/usr/bin/env python3
"""Writes src/quant/grids.rs, the patterns of the I-quants, from the tables in the Python package `gguf`.

    python3 scripts/iq_grids.py [--check]

`--check` changes nothing and fails where the file is not what would be written. The tables are figures of the format:
`iq2xxs_grid` to `iq1s_grid` of ggml-common.h, which the package holds in a form of its own.
"""

import sys
from pathlib import Path

import gguf.quants as quants
from gguf.constants import GGMLQuantizationType as Type

TABLES = [
    ("IQ2_XXS", 256, 8, (8, 25, 43)),
    ("IQ2_XS", 512, 8, (8, 25, 43)),
    ("IQ2_S", 1024, 8, (8, 25, 43)),
    ("IQ3_XXS", 256, 4, (4, 12, 20, 28, 36, 44, 52, 62)),
    ("IQ3_S", 512, 4, (1, 3, 5, 7, 9, 11, 13, 15)),
    ("IQ1_S", 2048, 8, (-1, 0, 1)),
]

HEAD = """\
//! The patterns of the I-quants, packed: 9 KiB in all. Written by `scripts/iq_grids.py`; source: `ggml-common.h`,
//! ggml 0.25.3.
//!
//! A word is a pattern, its first element in the lowest bits: eight of 2 bits (IQ1, IQ2) or four of 4 bits (IQ3). What
//! an element stands for is said where it is unpacked, in `iq.rs`.
"""


def words(name, count, width, values):
    table = quants._type_traits[Type[name]]
    table.init_grid()
    rows = table.grid.reshape(-1, width)
    assert len(rows) == count and set(map(float, rows.flatten())) == set(map(float, values)), name
    bits = 16 // width
    return [sum(values.index(int(value)) << bits * at for at, value in enumerate(row)) for row in rows]


def text():
    parts = [HEAD]
    for name, count, width, values in TABLES:
        packed = words(name, count, width, values)
        lines = [
            "    " + " ".join(f"0x{word:04X}," for word in packed[at : at + 14]) for at in range(0, count, 14)
        ]
        parts.append(f"\n#[rustfmt::skip]\npub(super) static {name}: [u16; {count}] = [\n" + "\n".join(lines) + "\n];\n")
    return "".join(parts)


def main():
    path = Path(__file__).parent.parent / "src/quant/grids.rs"
    wanted = text()
    if sys.argv[1:] == ["--check"]:
        if path.read_text() != wanted:
            sys.exit(f"{path} is not what this script writes")
    else:
        path.write_text(wanted)


if __name__ == "__main__":
    main()
