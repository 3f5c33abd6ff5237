"""The functions of ggml's base library, from the package `llama-cpp-python` where that is installed.

The package's build does not tell the base library of the machine's own instructions, so that on x86-64 no product and
sum are fused in it; elsewhere they may be.
"""

import ctypes
import importlib.util
from pathlib import Path

import numpy as np

# The types' numbers, elements a block and bytes a block: section 2 of the format's description.
TYPES = {
    "F32": (0, 1, 4), "F16": (1, 1, 2), "Q4_0": (2, 32, 18), "Q4_1": (3, 32, 20), "Q5_0": (6, 32, 22),
    "Q5_1": (7, 32, 24), "Q8_0": (8, 32, 34), "Q2_K": (10, 256, 84), "Q3_K": (11, 256, 110),
    "Q4_K": (12, 256, 144), "Q5_K": (13, 256, 176), "Q6_K": (14, 256, 210), "Q8_K": (15, 256, 292),
    "IQ2_XXS": (16, 256, 66), "IQ2_XS": (17, 256, 74), "IQ3_XXS": (18, 256, 98), "IQ1_S": (19, 256, 50),
    "IQ4_NL": (20, 32, 18), "IQ3_S": (21, 256, 110), "IQ2_S": (22, 256, 82), "IQ4_XS": (23, 256, 136),
    "F64": (28, 1, 8), "IQ1_M": (29, 256, 56), "BF16": (30, 1, 2), "TQ1_0": (34, 256, 54),
    "TQ2_0": (35, 256, 66), "MXFP4": (39, 32, 17), "NVFP4": (40, 64, 36), "Q1_0": (41, 128, 18),
    "Q2_0": (42, 64, 18),
}  # fmt: skip


def load():
    """The library, or None."""
    try:
        spec = importlib.util.find_spec("llama_cpp")
    except (ImportError, ValueError):
        return None
    for folder in spec.submodule_search_locations or [] if spec else []:
        for path in sorted(Path(folder).glob("lib/libggml-base.so*")):
            try:
                library = ctypes.CDLL(str(path))
            except OSError:
                continue
            library.ggml_quantize_chunk.restype = ctypes.c_size_t
            library.ggml_validate_row_data.restype = ctypes.c_bool
            return library
    return None


def pointer(array):
    return array.ctypes.data_as(ctypes.c_void_p)


def decode(library, name, blocks):
    """The elements of whole blocks (bytes, any shape)."""
    _, elements, size = TYPES[name]
    blocks = np.ascontiguousarray(blocks)
    count = blocks.size // size * elements
    out = np.empty(count, np.float32)
    lower = name.lower()
    function = getattr(library, "dequantize_row_" + (lower[:-1] + "K" if lower.endswith("_k") else lower))
    function(pointer(blocks), pointer(out), ctypes.c_int64(count))
    return out


def encode(library, name, values):
    """Values as whole blocks, without an importance matrix."""
    number, elements, size = TYPES[name]
    values = np.ascontiguousarray(values, np.float32)
    out = np.zeros(values.size // elements * size, np.uint8)
    if name == "F16":
        library.ggml_fp32_to_fp16_row(pointer(values), pointer(out), ctypes.c_int64(values.size))
        return out
    if name == "BF16":
        library.ggml_fp32_to_bf16_row_ref(pointer(values), pointer(out), ctypes.c_int64(values.size))
        return out
    # One row: rows are encoded one by one, and blocks know nothing of each other.
    arguments = [ctypes.c_int64(n) for n in (0, 1, values.size)]
    written = library.ggml_quantize_chunk(number, pointer(values), pointer(out), *arguments, None)
    assert written == out.size, (name, written, out.size)
    return out


def valid(library, name, blocks):
    """For each block whether the reference takes its data for sound."""
    number, _, size = TYPES[name]
    rows = np.ascontiguousarray(blocks).reshape(-1, size)
    judge = library.ggml_validate_row_data
    return np.array([judge(number, pointer(row), ctypes.c_size_t(size)) for row in rows], np.uint8)
