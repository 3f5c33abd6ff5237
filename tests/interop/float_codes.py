"""Writes tests/data/float_codes.tsv: what ml_dtypes and NumPy make of every code of every floating-point dtype.

    pip install ml_dtypes numpy
    python tests/interop/float_codes.py > tests/data/float_codes.tsv

A line of a narrow dtype: its tag, the first code, and eight values as the bits of an f32, in hexadecimal. The 65,536 codes
of a 16-bit dtype are one line: its tag, `all`, and the 64-bit FNV-1a hash of their values' bytes (f32, little-endian),
every NaN replaced by a quiet one of the same sign, since what becomes of a payload depends on the machine.
"""

import ml_dtypes
import numpy as np

NARROW = {
    "F4": ("float4_e2m1fn", 4),
    "F6_E2M3": ("float6_e2m3fn", 6),
    "F6_E3M2": ("float6_e3m2fn", 6),
    "F8_E5M2": ("float8_e5m2", 8),
    "F8_E4M3": ("float8_e4m3fn", 8),
    "F8_E8M0": ("float8_e8m0fnu", 8),
    "F8_E4M3FNUZ": ("float8_e4m3fnuz", 8),
    "F8_E5M2FNUZ": ("float8_e5m2fnuz", 8),
}
WIDE = {"F16": np.float16, "BF16": ml_dtypes.bfloat16}


def fnv1a(data):
    state = 0xCBF29CE484222325
    for byte in data:
        state = (state ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return state


def main():
    print(f"# ml_dtypes {ml_dtypes.__version__}, NumPy {np.__version__}; made by tests/interop/float_codes.py")
    for tag, (name, bits) in NARROW.items():
        codes = np.arange(1 << bits, dtype=np.uint8)
        values = codes.view(getattr(ml_dtypes, name)).astype(np.float32).view(np.uint32)
        for first in range(0, len(values), 8):
            print(tag, first, *(f"{value:08x}" for value in values[first : first + 8]), sep="\t")
    for tag, dtype in WIDE.items():
        values = np.arange(1 << 16, dtype=np.uint16).view(dtype).astype(np.float32).view(np.uint32)
        nan = (values & 0x7FFFFFFF) > 0x7F800000
        values[nan] = (values[nan] & 0x80000000) | 0x7FC00000
        print(tag, "all", f"{fnv1a(values.astype('<u4').tobytes()):016x}", sep="\t")


main()
