"""What scripts/dialects.py cannot take from the cases: who the readers are, and what is known of them, with its source."""

REFERENCE = "safetensors 0.8.0, tensor.rs"
GGUF_CPP = "ggml 0.25.3 (llama.cpp 0c1e57098), gguf.cpp"


def reader(of, name, version, key):
    return {"id": of, "name": name, "version": version, "key": key}


BOOKS = {
    "SAFETENSORS": {
        "title": "safetensors",
        "format": "safetensors",
        "cases": "safetensors.json",
        "readers": [
            reader("rust", "safetensors (Rust)", "0.8.0", "reference"),
            reader("python", "safetensors (Python, NumPy)", "0.8.0", "safetensors 0.8.0 (python, numpy)"),
            reader("mlx", "mlx", "0.32.4", "mlx 0.32.4"),
            reader("tinygrad", "tinygrad", "0.14.0", "tinygrad 0.14.0"),
            reader("go", "nlpodyssey/safetensors (Go)", "bfb01cc", "nlpodyssey/safetensors bfb01cc (Go)"),
            reader("hub", "@huggingface/hub (JavaScript)", "2.17.5", "@huggingface/hub 2.17.5"),
            reader("cpp", "syoyo/safetensors-cpp", "HEAD of 2026-11", "syoyo/safetensors-cpp"),
            reader("audit", "modelaudit (scanner)", "0.2.54", "modelaudit 0.2.54"),
            reader("lazy", "a lazy reader (json.loads, then slices)", "", "json.loads and slice, as lazy readers do"),
            reader("naive", "a naive reader (json.loads alone)", "", "json.loads only"),
        ],
    },
    "GGUF": {
        "title": "GGUF",
        "format": "GGUF",
        "cases": "gguf.json",
        "readers": [
            reader("meta", "gguf.cpp (metadata only)", "ggml 0.25.3", "reference meta"),
            reader("noalloc", "gguf.cpp (no_alloc, as llama.cpp)", "ggml 0.25.3", "reference noalloc"),
            reader("data", "gguf.cpp (with data)", "ggml 0.25.3", "reference data"),
            reader("py", "gguf-py", "0.19.0", "gguf-py 0.19.0"),
            reader("pyn", "gguf-py", "0c1e57098", "gguf-py 0c1e57098"),
            reader("js", "@huggingface/gguf", "0.4.6", "@huggingface/gguf 0.4.6"),
            reader("candle", "candle", "2a13b0f3", "candle 2a13b0f3"),
            reader("gguf", "gguf (Rust)", "0.1.2", "gguf 0.1.2"),
            reader("gguf-rs", "gguf-rs", "0.1.8", "gguf-rs 0.1.8"),
            reader("ggus", "ggus", "0.5.1", "ggus 0.5.1"),
            reader("gguf-rs-lib", "gguf-rs-lib", "0.3.3", "gguf-rs-lib 0.3.3"),
            reader("modelvet", "modelvet (verifier)", "0.1.1", "modelvet 0.1.1"),
        ],
    },
}

# Where several traits could explain what a reader did, the one that its source or its message names.
PREFERRED = {
    # NumPy has 64-bit dimensions, and says "array is too big".
    ("zero-times-too-much", "python"),
    # Its message names the limit, MAX_TENSOR_DIM.
    ("dim-over-2^32", "hub"),
}

LAST = "keeps the last of the two"
LOADS = "Python's documentation of json: of repeated names all but the last are ignored"
PARSE = "ECMA-262, JSON.parse: the last of duplicate names overwrites"

RUN = "run on 2026-11-30"

# The reference has all 22 dtypes. What the others did with the files corpus/accept/dtype-*.safetensors of the dtypes that no
# case has: in the versions above, through the calls that gave what the cases say of the 23 cases of dtypes.
UNSEEN = ["BF16", "F8_E5M2", "F8_E5M2FNUZ", "F8_E8M0", "I8", "U32"]
DTYPES = {
    "rust": "aaaaaa",
    "python": "rrrraa",
    "mlx": "arrdaa",
    "tinygrad": "aarraa",
    "hub": "aaaaaa",
    "cpp": "arrraa",
    "naive": "aaaaaa",
}


def unseen():
    for of, cells in DTYPES.items():
        for tag, cell in zip(UNSEEN, cells):
            file = f"corpus/accept/dtype-{tag.lower()}.safetensors, {RUN}"
            source = {"rust": f"{REFERENCE} 811 to 891; {file}", "naive": "it looks at no dtype"}.get(of, file)
            yield (f"dtype {tag}", of), (cell, source)


# (trait, reader): the entry, and where it is from. It stands in place of what the cases say.
KNOWN = {
    **dict(unseen()),
    ("dtype F6_E3M2", "cpp"): ("r", f"corpus/accept/dtype-f6_e3m2.safetensors, {RUN}"),
    ("dtype F8_E4M3", "mlx"): ("d", f"the elements are uint8; {RUN}"),
    ("dtype F8_E5M2", "go"): ("r", "has no F8, F4 or C64; run on 2026-11-30"),
    ("dtype F8_E8M0", "go"): ("r", "has no F8, F4 or C64; run on 2026-11-30"),
    ("ST-DUP-META-KEY", "rust"): ("d", f"{REFERENCE} 540 to 546, and the cases"),
    ("ST-DUP-META-KEY", "python"): ("d", f"{REFERENCE} 540 to 546, and the cases"),
    ("ST-DUP-META-KEY", "go"): ("d", "the last wins; run on 2026-11-30"),
    ("ST-DUP-META-KEY", "mlx"): ("d", "the last wins; run on 2026-11-30"),
    ("ST-DUP-META-KEY", "tinygrad"): ("d", LOADS),
    ("ST-DUP-META-KEY", "lazy"): ("d", LOADS),
    ("ST-DUP-META-KEY", "naive"): ("d", LOADS),
    ("ST-DUP-META-KEY", "hub"): ("d", PARSE),
    ("JS-SURROGATE", "go"): ("d", "encoding/json puts U+FFFD in its place; run on 2026-11-30"),
    ("ST-NOTE-LARGE-DIM", "mlx"): ("d", f"[0, 2^31] is read as [0, -2^31]; {RUN}"),
    ("ST-NOTE-LARGE-DIM", "python"): ("a", f"a tensor of [0, 2^31], {RUN}"),
    ("ST-NOTE-LARGE-DIM", "hub"): ("a", f"a tensor of [0, 2^32], {RUN}"),
    ("dim-over-2^32", "python"): ("a", f"a tensor of [0, 2^53 + 2], {RUN}"),
    ("ST-NOTE-META-NULL", "cpp"): ("r", f"a file of nothing else, {RUN}"),
    **{("tensors-over-4096", of): ("a", f"5,000 tensors of a byte, {RUN}") for of in
       ("rust", "python", "mlx", "tinygrad", "hub", "cpp")},
    ("tensors-over-4096", "audit"): ("r", "its limit of 4,096 tensors"),
    ("header-over-16-mib", "rust"): ("a", f"{REFERENCE} line 10: up to 100,000,000 bytes"),
    ("header-over-16-mib", "python"): ("a", f"{REFERENCE} line 10: up to 100,000,000 bytes"),
    ("header-over-16-mib", "audit"): ("r", "its limit of 16 MiB"),
    ("header-over-25-mb", "rust"): ("a", f"{REFERENCE} line 10: up to 100,000,000 bytes"),
    ("header-over-25-mb", "python"): ("a", f"{REFERENCE} line 10: up to 100,000,000 bytes"),
    ("header-over-25-mb", "hub"): ("r", "its limit of 25 MB"),
    ("GG-NAME-CONTROL/nul", "meta"): ("d", f"{GGUF_CPP}: names are C strings"),
    ("GG-NAME-CONTROL/nul", "noalloc"): ("d", f"{GGUF_CPP}: names are C strings"),
    ("GG-NAME-CONTROL/nul", "data"): ("d", f"{GGUF_CPP}: names are C strings"),
    ("GG-KEY-CHARSET/nul", "meta"): ("d", f"{GGUF_CPP} 1065: keys are found by strcmp"),
    ("GG-KEY-CHARSET/nul", "noalloc"): ("d", f"{GGUF_CPP} 1065: keys are found by strcmp"),
    ("GG-KEY-CHARSET/nul", "data"): ("d", f"{GGUF_CPP} 1065: keys are found by strcmp"),
    ("GG-KEY-CHARSET/nul", "candle"): ("d", "candle 2a13b0f3, gguf_file.rs: NULs at the end are taken off"),
    ("string-ends-in-nul", "candle"): ("d", "candle 2a13b0f3, gguf_file.rs: NULs at the end are taken off"),
    ("string-begins-with-bom", "js"): ("d", "TextDecoder drops a byte order mark; case kv_str_bom"),
    ("GG-STRING-UTF8", "candle"): ("d", "candle 2a13b0f3, gguf_file.rs 149: from_utf8_lossy"),
    ("GG-NOTE-ARRAY-UTF8", "candle"): ("d", "candle 2a13b0f3, gguf_file.rs 149: from_utf8_lossy"),
    # A key of 65,535 bytes was refused; where the limit lies is not known.
    ("key-long", "modelvet"): ("v", "refused with 65,535 bytes (case kv_key_len_65535), shorter ones were not run"),
}

# (trait, reader): what it does, for the person who reads the report, and where that is from.
NOTES = {
    **{("ST-DUP-NAME", of): (LAST, source) for of, source in {
        "rust": f"{REFERENCE} 540 to 546: refused only where that leaves a hole",
        "python": f"{REFERENCE} 540 to 546: refused only where that leaves a hole",
        "go": RUN,
        "mlx": RUN,
        "tinygrad": LOADS,
        "lazy": LOADS,
        "naive": LOADS,
        "hub": PARSE,
    }.items()},
    **{("ST-DUP-META-KEY", of): (LAST, None) for of in
       ("rust", "python", "go", "mlx", "tinygrad", "lazy", "naive", "hub")},
    ("JS-SURROGATE", "go"): ("reads U+FFFD in its place", None),
    ("JS-UTF8", "go"): ("reads U+FFFD in place of what is no UTF-8, so that two names can become one", RUN),
    ("JS-UTF8", "hub"): ("reads U+FFFD in place of what is no UTF-8", RUN),
    ("ST-NOTE-LARGE-DIM", "mlx"): ("cuts dimensions to 32 bits", None),
    ("dtype F8_E8M0", "mlx"): ("reads it as uint8", None),
    ("dtype F8_E4M3", "mlx"): ("reads it as uint8", None),
    ("dim-over-2^32", "hub"): ("reads dimensions of up to 2^32", f"its MAX_TENSOR_DIM; {RUN}"),
    ("ST-FIELD-UNKNOWN/plain", "rust"): ("ignores the field", f"{REFERENCE}: no deny_unknown_fields"),
    ("ST-FIELD-UNKNOWN/nested-to-125", "rust"): ("ignores the field", f"{REFERENCE}: no deny_unknown_fields"),
    ("ST-ENTRY-TYPE/array", "rust"): ("takes an array of three for an entry", f"{REFERENCE}, serde's derive"),
    ("ST-DATA-SHORT", "hub"): ("reads the header only", RUN),
    ("ST-GAP", "hub"): ("reads the header only", RUN),
    ("tensors-over-4096", "audit"): ("looks at 4,096 tensors at the most", None),
    ("header-over-16-mib", "audit"): ("reads headers of up to 16 MiB", None),
    ("header-over-25-mb", "hub"): ("reads headers of up to 25 MB", None),
    ("GG-KEY-DUP", "js"): ("keeps one of the two", "counts fewer pairs than the header declares"),
    ("GG-KEY-DUP", "candle"): ("keeps one of the two", "counts fewer pairs than the header declares"),
    ("GG-KEY-DUP", "gguf-rs"): ("keeps one of the two", "counts fewer pairs than the header declares"),
    ("GG-NAME-DUP", "candle"): ("keeps one of the two", "counts fewer tensors than the header declares"),
    ("GG-NOTE-KEY-PROTO", "js"): ("loses the key __proto__", "counts fewer pairs than the header declares"),
    ("alignment-2^31", "js"): ("computes a data section at a negative offset", "case align_0x80000000"),
    **{("GG-NAME-CONTROL/nul", of): ("ends the name at the NUL", f"{GGUF_CPP}, case name_nul") for of in
       ("meta", "noalloc", "data")},
    **{("GG-KEY-CHARSET/nul", of): ("finds the key without what stands behind the NUL", None) for of in
       ("meta", "noalloc", "data")},
    ("GG-KEY-CHARSET/nul", "candle"): ("takes NULs off the end", None),
    ("string-ends-in-nul", "candle"): ("takes NULs off the end", None),
    ("string-begins-with-bom", "js"): ("drops the byte order mark", None),
    ("GG-STRING-UTF8", "candle"): ("reads U+FFFD in place of what is no UTF-8", None),
    ("GG-NOTE-ARRAY-UTF8", "candle"): ("reads U+FFFD in place of what is no UTF-8", None),
}
