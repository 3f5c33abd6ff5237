"""Quantised files against llama.cpp's own: it must load ours, and compute from them what it computes from its own.

    python3 quantize.py FOLDER

FOLDER/source.gguf is a GPT-2, FOLDER/NUMBER.gguf the same quantised as `general.file_type` NUMBER.
"""

import ctypes
import sys
from pathlib import Path

try:
    import gguf
    import llama_cpp
    import numpy as np
except ImportError as error:
    print(f"{error.name} is not installed")
    sys.exit(3)

IDS = [11, 7, 300, 42, 5, 5, 128, 400, 63, 1, 19, 256, 90, 31, 77, 2]


def logits(path):
    model = llama_cpp.Llama(str(path), n_ctx=64, verbose=False, logits_all=True)
    model.eval(IDS)
    return np.array(model.scores[: len(IDS)], dtype=np.float64)


def main(folder):
    source = folder / "source.gguf"
    exact = logits(source)
    size = np.abs(exact).max()
    for ours in sorted(folder.glob("[0-9]*.gguf")):
        theirs = folder / "theirs"
        params = llama_cpp.llama_model_quantize_default_params()
        params.ftype, params.nthread = int(ours.stem), 2
        assert llama_cpp.llama_model_quantize(bytes(source), bytes(theirs), ctypes.byref(params)) == 0
        tensors = {tensor.name: tensor for tensor in gguf.GGUFReader(theirs).tensors}
        found = gguf.GGUFReader(ours).tensors
        assert {tensor.name for tensor in found} == set(tensors)
        same = sum(bytes(tensor.data) == bytes(tensors[tensor.name].data) for tensor in found)
        kinds = [tensor.name for tensor in found if tensor.tensor_type != tensors[tensor.name].tensor_type]
        assert not kinds, kinds
        a, b = logits(ours), logits(theirs)
        between, error, their_error = (np.abs(x - y).max() / size for x, y in ((a, b), (a, exact), (b, exact)))
        print(
            f"type {ours.stem}: {same} of {len(found)} tensors byte-equal, logits apart {between:.2e}, "
            f"from the source {error:.2e} (theirs {their_error:.2e})"
        )
        assert between == 0 if same == len(found) else between <= max(error, their_error)
        assert np.isfinite(a).all() and error <= 1.5 * their_error + 1e-6


if len(sys.argv) < 2:
    print(f"llama-cpp-python {llama_cpp.__version__}")
else:
    quiet = llama_cpp.llama_log_callback(lambda *_: None)
    llama_cpp.llama_log_set(quiet, None)
    main(Path(sys.argv[1]))
