#!/usr/bin/env python3
"""The tests of the core that take seconds: mutants are tried with them, and they are run for coverage."""

# The modules' own tests (--lib) besides.
QUICK = """
    replay kinds rules limits typed slices cases_safetensors cases_gguf cases_index cases_slices
    gguf gguf_values gguf_relaxed gguf_split audit_gguf write write_stream gguf_write alloc
""".split()

if __name__ == "__main__":
    print(*QUICK)
