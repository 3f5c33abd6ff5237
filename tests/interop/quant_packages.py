"""Says whether the packages that `quant.py` needs are there: exit code 0, or 3 and the reason."""

import importlib.metadata
import sys

try:
    import gguf
    import numpy
except ImportError as error:
    print(error)
    sys.exit(3)
import ggml_base

library = "ggml of llama-cpp-python" if ggml_base.load() else "no ggml library"
print(f"gguf {importlib.metadata.version('gguf')}, numpy {numpy.__version__}, {library}")
