#!/usr/bin/env python3
"""Which types llama.cpp's own quantiser gives to the tensors of some models, and what bytes it makes of a small one's:
`tests/data/mixtures.json`.

    quantize_choices.py tests/data/tiny-gpt2-gguf/tinyC-q8_0.gguf > tests/data/mixtures.json

Needs `llama-cpp-python` (0.3.36 made the file) and `gguf`. Only names, shapes and a few numbers decide on types, so that
the models' tensors are holes in sparse files, and the quantiser runs dry. For the bytes, the small model is made F32 first.
"""
import ctypes, hashlib, json, os, random, re, sys, tempfile

import gguf
import llama_cpp
import numpy as np

TYPES = {
    "f32": 0, "f16": 1, "q4_0": 2, "q4_1": 3, "q8_0": 7, "q5_0": 8, "q5_1": 9, "q4_k_s": 14, "q4_k_m": 15,
    "q5_k_s": 16, "q5_k_m": 17, "q6_k": 18, "iq4_nl": 25, "bf16": 32, "mxfp4_moe": 38,
}
KINDS = {"F32": 0, "F16": 1, "Q4_0": 2, "Q5_0": 6, "Q8_0": 8, "Q4_K": 12, "Q6_K": 14}


def gpt2(layers, width, vocab=512, untied=False):
    tensors = {
        "token_embd.weight": [vocab, width], "position_embd.weight": [64, width],
        "output_norm.weight": [width], "output_norm.bias": [width],
    }
    if untied:
        tensors["output.weight"] = [vocab, width]
    for layer in range(layers):
        for name, shape in {
            "attn_norm.weight": [width], "attn_norm.bias": [width],
            "attn_qkv.weight": [3 * width, width], "attn_qkv.bias": [3 * width],
            "attn_output.weight": [width, width], "attn_output.bias": [width],
            "ffn_norm.weight": [width], "ffn_norm.bias": [width],
            "ffn_up.weight": [4 * width, width], "ffn_up.bias": [4 * width],
            "ffn_down.weight": [width, 4 * width], "ffn_down.bias": [width],
        }.items():
            tensors[f"blk.{layer}.{name}"] = shape
    return model("gpt2", layers, width, 4, 4, 0, tensors)


def llama(arch, layers, heads, kv_heads, experts=0, width=256, qkv=False):
    tensors = {"token_embd.weight": [512, width], "output_norm.weight": [width], "output.weight": [512, width]}
    keys = width * kv_heads // heads
    for layer in range(layers):
        own = {"attn_norm.weight": [width], "attn_output.weight": [width, width], "ffn_norm.weight": [width]}
        if qkv:
            own["attn_qkv.weight"] = [width + 2 * keys, width]
        else:
            own |= {"attn_q.weight": [width, width], "attn_k.weight": [keys, width], "attn_v.weight": [keys, width]}
        if experts:
            own |= {
                "ffn_gate_inp.weight": [experts, width], "ffn_gate_exps.weight": [experts, 512, width],
                "ffn_up_exps.weight": [experts, 512, width], "ffn_down_exps.weight": [experts, width, 512],
            }
        else:
            own |= {"ffn_gate.weight": [512, width], "ffn_up.weight": [512, width], "ffn_down.weight": [width, 512]}
        for name, shape in own.items():
            tensors[f"blk.{layer}.{name}"] = shape
    return model(arch, layers, width, heads, kv_heads, experts, tensors)


def model(arch, layers, width, heads, kv_heads, experts, tensors):
    order = list(tensors.items())
    random.Random(7).shuffle(order)
    return {
        "architecture": arch, "layers": layers, "width": width, "heads": heads, "kv_heads": kv_heads,
        "experts": experts, "tensors": order,
    }


def write(path, model):
    writer = gguf.GGUFWriter(path, model["architecture"])
    writer.add_block_count(model["layers"])
    writer.add_context_length(64)
    writer.add_embedding_length(model["width"])
    writer.add_feed_forward_length(512)
    writer.add_head_count(model["heads"])
    writer.add_head_count_kv(model["kv_heads"])
    writer.add_layer_norm_eps(1e-5)
    writer.add_layer_norm_rms_eps(1e-5)
    if model["experts"]:
        writer.add_expert_count(model["experts"])
        writer.add_expert_used_count(2)
    size = 0
    for name, shape in model["tensors"]:
        count = 4 * int(np.prod(shape))
        writer.add_tensor_info(name, shape, np.dtype(np.float32), count)
        size += -(-count // 32) * 32
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_ti_data_to_file()
    writer.close()
    os.truncate(path, os.path.getsize(path) // 32 * 32 + 32 + size)


LINES = []


@llama_cpp.llama_log_callback
def log(_level, text, _data):
    LINES.append(text.decode(errors="replace"))


def choices(path, model, name, pure=False, output=None, embedding=None, override=None):
    LINES.clear()
    params = llama_cpp.llama_model_quantize_default_params()
    params.nthread, params.ftype, params.pure, params.dry_run = 1, TYPES[name], pure, True
    if output:
        params.output_tensor_type = KINDS[output]
    if embedding:
        params.token_embedding_type = KINDS[embedding]
    if override:
        one = llama_cpp.llama_cpp.llama_model_tensor_override
        table = (one * 2)(one(override[0].encode(), KINDS[override[1]]), one(None, 0))
        field = dict(params._fields_)["tt_overrides"]
        params.tt_overrides = ctypes.cast(table, field)
    assert llama_cpp.llama_model_quantize(path.encode(), b"/dev/null", ctypes.byref(params)) == 0, "".join(LINES)
    text, found = "".join(LINES), {}
    for match in re.finditer(r"\[ *\d+/ *\d+\] (\S+) +- \[[^]]*\], type = +(\w+), (?:.*?)size = ([^\n]*)\n", text, re.S):
        new = re.search(r"\((\w+)\)$", match[3])
        found[match[1]] = (new[1] if new else match[2]).upper()
    return "".join(LETTERS[found[tensor]] for tensor, _ in model["tensors"])


LETTERS = {
    "F32": "s", "F16": "h", "BF16": "b", "Q4_0": "4", "Q4_1": "D", "Q5_0": "5", "Q5_1": "E", "Q8_0": "8", "Q4_K": "k",
    "Q5_K": "l", "Q6_K": "m", "IQ4_NL": "n", "MXFP4": "x",
}


def digests(path):
    tensors = gguf.GGUFReader(path).tensors
    return {tensor.name: hashlib.sha256(tensor.data.tobytes()).hexdigest()[:16] for tensor in tensors}


def files(source, folder):
    """The tensors' digests in each type, of the model made F32."""
    params = llama_cpp.llama_model_quantize_default_params()
    params.nthread, params.allow_requantize = 2, True
    plain, out, found = os.path.join(folder, "f32"), os.path.join(folder, "out"), {}
    for name, number in TYPES.items():
        first = name == "f32"
        params.ftype = number
        paths = (source, plain) if first else (plain, out)
        assert llama_cpp.llama_model_quantize(*(path.encode() for path in paths), ctypes.byref(params)) == 0
        found[name] = digests(paths[1])
    return found


def main():
    llama_cpp.llama_log_set(log, None)
    models = {
        "gpt2-124M": gpt2(12, 768, vocab=50257), "gpt2-xl-untied": gpt2(48, 1600, untied=True),
        "gpt2-wide": gpt2(5, 256), "tinyC": gpt2(1, 256), "gpt2-narrow": gpt2(2, 32), "gpt2-odd": gpt2(3, 40),
        "llama-70B": llama("llama", 80, 8, 1), "llama": llama("llama", 17, 8, 8), "llama-8x-qkv": llama("llama", 8, 8, 2, 8, qkv=True), "llama-8x": llama("llama", 32, 8, 2, 8),
        "llama-4x": llama("llama", 9, 8, 2, 4), "qwen2-72B": llama("qwen2", 80, 8, 1),
        "falcon": llama("falcon", 32, 8, 8, qkv=True),
    }
    document = {"llama_cpp_python": llama_cpp.__version__, "letters": {v: k for k, v in LETTERS.items()}, "models": {}}
    with tempfile.TemporaryDirectory() as folder:
        for name, model in models.items():
            path = os.path.join(folder, name)
            write(path, model)
            runs = [{"type": kind} for kind in TYPES]
            runs += [{"type": kind, "pure": True} for kind in ["q4_k_m", "q6_k", "q4_0", "mxfp4_moe"]]
            runs += [
                {"type": "q4_k_m", "output": "Q8_0"}, {"type": "q5_k_m", "embedding": "Q8_0"},
                {"type": "q4_k_s", "output": "F16", "embedding": "Q4_0"}, {"type": "q8_0", "pure": True, "output": "F16"},
                {"type": "f16", "output": "Q8_0"},
                {"type": "q4_k_m", "override": ["ffn_down", "Q6_K"]}, {"type": "q5_0", "override": ["attn_", "Q4_K"]},
                {"type": "iq4_nl", "pure": True, "override": ["token_embd", "F16"]},
            ]
            for run in runs:
                arguments = {key: value for key, value in run.items() if key != "type"}
                run["types"] = choices(path, model, run["type"], **arguments)
            document["models"][name] = model | {"runs": runs}
            os.remove(path)
        document["files"] = files(sys.argv[1], folder)
    print(json.dumps(document, separators=(",", ":")))


if __name__ == "__main__":
    main()
