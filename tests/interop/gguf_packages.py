"""Says whether the packages that the GGUF scripts need are there: exit code 0, or 3 and the reason."""

import importlib.metadata
import sys

try:
    import gguf
    import numpy
except ImportError as error:
    print(error)
    sys.exit(3)
print(f"gguf {importlib.metadata.version('gguf')}, numpy {numpy.__version__}")
