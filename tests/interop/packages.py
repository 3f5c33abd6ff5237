"""Says whether the packages that the other scripts need are there: exit code 0, or 3 and the reason."""

import sys

try:
    import numpy
    import safetensors
    import safetensors.numpy
except ImportError as error:
    print(error)
    sys.exit(3)
print(f"safetensors {safetensors.__version__}, numpy {numpy.__version__}")
