"""Sharded indexes, alone and against their shards."""

from ix import accept, folder, reject, shard, weights

MAP = weights(("a", "m"))


def with_metadata(text):
    return f'{{"metadata":{text},{MAP}}}'


def with_shard(text):
    return f'{{"weight_map":{{"a":¦"{text}"}}}}'


# Accepted: each way of numbering shards that was seen, and what metadata may hold.

accept("index-minimal", "{" + MAP + "}")
accept("index-no-tensor", '{"weight_map":{}}')
for name, pattern in {
    "from-1-five-digits": ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"],
    "from-0-five-digits": ["model-00000-of-00002.safetensors", "model-00001-of-00002.safetensors"],
    "from-0-one-digit": ["model-0-of-2.safetensors", "model-1-of-2.safetensors"],
    "six-digits": ["model-000001-of-000002.safetensors", "model-000002-of-000002.safetensors"],
    "no-numbers": ["attention.safetensors", "experts.safetensors"],
    "longest-and-shortest": ["x" * 255, "y"],
    "almost-devices": ["console.safetensors", "COM0"],
    "outside-ascii": ["日本.safetensors", "é"],
}.items():
    text = '{"metadata":{"total_size":2},' + weights(("a", pattern[0]), ("b", pattern[1])) + "}"
    accept(f"index-shards-{name}", text)
accept("index-one-shard", "{" + weights(*[(f"layer.{i}", "model-00001-of-00001.safetensors") for i in range(4)]) + "}")
# More shards than the reader keeps on its stack, in order and not.
shards = [(f"w{i:03}", f"m{i:03}") for i in range(300)]
accept("index-300-shards", "{" + weights(*shards) + "}")
accept("index-300-shards-backwards", "{" + weights(*shards[::-1]) + "}")
accept("index-metadata-null", with_metadata("null"))
accept("index-metadata-empty", with_metadata("{}"))
accept("index-metadata-last", "{" + MAP + ',"metadata":{"total_size":1}}')
accept("index-metadata-more-fields", with_metadata('{"total_parameters":7,"total_size":14,"format":"pt","made":{"by":["me",null]}}'))
accept("index-metadata-every-value", with_metadata('{"a":-0.5e-400,"b":[true,false,null,[],{}],"c":"\\u0000","d":1E+307,"e":-0}'))
accept("index-metadata-eight-deep", with_metadata('{"a":' + "[" * 7 + "1" + "]" * 7 + "}"))
accept("index-metadata-same-key-in-two-objects", with_metadata('{"a":{"a":1},"b":{"a":2}}'))
accept("index-total-size-float", with_metadata('{"total_size":2.0}'))
accept("index-names-in-no-order", "{" + weights(("b", "n"), ("c", "m"), ("a", "n")) + "}")
accept("index-escaped", '{"weight\\u005fmap":{"\\u0061":"\\u006d","\\ud83d\\ude00":"m"}}')
accept("index-white-space", '{ "metadata" : null ,\r\n\t' + MAP + " } \n")

# The index's members.

for name, text in {
    "extra": "{" + MAP + ',¦"extra":1}',
    "first": '{¦"format":"pt",' + MAP + "}",
    "case": '{¦"Weight_map":{}}',
    "empty": '{¦"":{},' + MAP + "}",
}.items():
    reject("IX-FIELD-UNKNOWN", name, text)
for name, text in {"empty-object": "¦{}", "metadata-alone": '¦{"metadata":{}}', "metadata-null": '¦{"metadata":null}'}.items():
    reject("IX-FIELD-MISSING", name, text)
for name, text in {
    "weight-map": '{"weight_map":{},¦"weight_map":{}}',
    "weight-map-escaped": '{"weight_map":{},¦"weight_\\u006dap":{}}',
    "metadata": '{"metadata":{},¦"metadata":{},' + MAP + "}",
    "metadata-null-first": '{"metadata":null,¦"metadata":{},' + MAP + "}",
}.items():
    reject("IX-DUP-FIELD", name, text)
for name, value in {"array": "[]", "string": '"x"', "number": "1", "true": "true"}.items():
    reject("IX-META-TYPE", name, with_metadata("¦" + value))
for name, value in {
    "plain": '{"a":1,¦"a":2}',
    "escaped": '{"a":1,¦"\\u0061":2}',
    "nested": '{"z":{"b":{},"a":0,¦"a":1}}',
    "in-an-array": '{"z":[0,{"a":1,¦"a":2}]}',
    "total-size": '{"total_size":1,¦"total_size":2}',
}.items():
    reject("IX-DUP-META-KEY", name, with_metadata(value))
for name, number in {
    "leading-zero": "01",
    "bare-minus": "-",
    "trailing-dot": "1.",
    "bare-exponent": "1e",
    "beyond-a-float": "1e400",
    "hundreds-of-digits": "9" * 309,
    "hexadecimal": "-x1",
}.items():
    reject("IX-META-NUMBER", name, with_metadata(f'{{"total_size":¦{number}}}'))
for name, value in {"nan": "NaN", "nothing": "", "plus": "+1", "upper-case": "True", "leading-dot": ".5", "word": "nul"}.items():
    reject("JS-VALUE", name, with_metadata(f'{{"a":¦{value}}}'))
reject("JS-VALUE", "behind-a-comma", with_metadata('{"a":[1,¦]}'))
for name, value in {"array": "[]", "null": "null", "string": '"m"'}.items():
    reject("IX-MAP-TYPE", name, f'{{"weight_map":¦{value}}}')
for name, pairs in {
    "plain": [("a", "m"), ("¦a", "m")],
    "other-shard": [("a", "m"), ("¦a", "n")],
    "escaped": [("a", "m"), ("¦\\u0061", "m")],
    "escaped-three-bytes": [("日本", "m"), ("¦\\u65e5\\u672c", "m")],
    "escaped-four-bytes": [("\\ud83d\\ude00", "m"), ("a", "m"), ("¦😀", "m")],
    "surrogates-in-both-cases": [("\\ud83d\\ude00", "m"), ("a", "m"), ("¦\\uD83D\\uDE00", "m")],
    "escapes-in-both-cases": [("\\u00e9", "m"), ("a", "m"), ("¦\\u00E9", "m")],
    "second-of-two": [("b", "m"), ("c", "m"), ("a", "m"), ("¦c", "n"), ("b", "m")],
}.items():
    reject("IX-DUP-NAME", name, "{" + weights(*pairs) + "}")
# Pairs of seven bytes, more of them than bytes by eight; the first name that stands twice may stand before or behind them.
reject("IX-DUP-NAME", "many-empty", "{" + weights(("", "m"), ("¦", "m"), *[("", "m")] * 98) + "}")
reject("IX-DUP-NAME", "many-empty-behind", "{" + weights(("a", "m"), ("", "m"), ("¦a", "m"), *[("", "m")] * 97) + "}")
reject("IX-DUP-NAME", "many-empty-before", "{" + weights(("", "m"), ("a", "m"), ("¦", "m"), *[("", "m")] * 97, ("a", "m")) + "}")
for name, value in {"number": "1", "null": "null", "array": '["m"]', "object": "{}"}.items():
    reject("IX-SHARD-TYPE", name, f'{{"weight_map":{{"a":¦{value}}}}}')
for name, value in {
    "empty": "",
    "dot": ".",
    "dot-dot": "..",
    "parent": "../m.safetensors",
    "absolute": "/etc/passwd",
    "slash-escaped": "a\\u002fb",
    "folder": "shards/m.safetensors",
    "backslash": "..\\\\m.safetensors",
    "drive": "C:m.safetensors",
    "stream": "m.safetensors:x",
    "url": "https://example.com",
    "nul": "m\\u0000.safetensors",
    "newline": "m\\n",
    "dot-at-end": "m.",
    "space-at-end": "m ",
    "device": "NUL.safetensors",
    "device-lower-case": "com1.safetensors",
    "device-superscript": "LPT¹",
    "device-and-spaces": "COM1  .safetensors",
    "256-bytes": "x" * 256,
}.items():
    reject("IX-SHARD-NAME", name, with_shard(value))

# JSON, as an index has it.

reject("JS-NOT-OBJECT", "index-array", "¦[]")
reject("JS-NOT-OBJECT", "index-byte-order-mark", "¦\ufeff{" + MAP + "}")
reject("JS-END", "index-empty", "¦")
reject("JS-END", "index-metadata-cut", '{"metadata":{"a":[1¦')
reject("JS-TRAILING", "index-second-object", "{" + MAP + "}¦{}")
reject("JS-KEY", "index-trailing-comma", '{"weight_map":{"a":"m",¦}}')
reject("JS-COLON", "index-metadata", '{"metadata":{"a" ¦1}}')
reject("JS-COMMA", "index-metadata-brackets", '{"metadata":{"a":[1¦}}')
reject("JS-UTF8", "index-shard", b'{"weight_map":{"a":"' + "¦".encode() + b'\xff"}}')
reject("JS-CONTROL", "index-shard", '{"weight_map":{"a":"m¦\n"}}')
reject("JS-SURROGATE", "index-name", '{"weight_map":{"¦\\ud800":"m"}}')

# The caller's limits.

LONG = "{" + MAP + "}"
reject("IX-LIMIT-LENGTH", "one-over", "¦" + LONG, limits=f"index_len={len(LONG) - 1}")
reject("IX-LIMIT-LENGTH", "none", '¦{"weight_map":{}}', limits="index_len=0")
reject("IX-LIMIT-TENSORS", "three-of-two", "{" + weights(("a", "m"), ("b", "m"), ("¦c", "m")) + "}", limits="tensors=2")
reject("IX-LIMIT-TENSORS", "one-of-none", "{" + weights(("¦a", "m")) + "}", limits="tensors=0")
reject("IX-LIMIT-SHARDS", "two-of-one", "{" + weights(("a", "m"), ("b", "¦n")) + "}", limits="shards=1")
# Shards are counted in the order of their names, so that the last of them is one too many.
reject("IX-LIMIT-SHARDS", "against-the-order", "{" + weights(("a", "¦n"), ("b", "m"), ("c", "m")) + "}", limits="shards=1")
reject("IX-LIMIT-NAME", "five-of-four", "{" + weights(("abcd", "m"), ("¦abcde", "m")) + "}", limits="name_len=4")
reject("IX-LIMIT-NAME", "escapes-count-as-they-stand", "{" + weights(("¦\\u0061", "m")) + "}", limits="name_len=4")
reject("IX-LIMIT-METADATA", "three-of-two", with_metadata("¦{ }"), limits="index_metadata_len=2")
reject("IX-LIMIT-METADATA", "nested", with_metadata('¦{"a":[1,2,3]}'), limits="index_metadata_len=12")
reject("IX-LIMIT-DEPTH", "nine-arrays", with_metadata('{"a":' + "[" * 8 + "¦[1" + "]" * 9 + "}"))
reject("IX-LIMIT-DEPTH", "nine-objects", with_metadata('{"a":' + '{"a":' * 8 + "¦{" + "}" * 10))
reject("IX-LIMIT-DEPTH", "one-of-none", with_metadata('{"a":¦[]}'), limits="index_metadata_depth=0")

# Against the shards. Every tensor is one byte.

ONE, TWO = "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"
GOOD = {ONE: shard("a", "b"), TWO: shard("c")}
LISTED = [("a", ONE), ("b", ONE), ("c", TWO)]


def index(total, *pairs, begin=""):
    return f'{{"metadata":{{"total_size":{total}}},{weights(*pairs, begin=begin)}}}'


folder(None, "two-shards", index(3, *LISTED), GOOD)
folder(None, "names-in-no-order", index(3, *reversed(LISTED)), GOOD)
folder(None, "escaped", index(3, ("\\u0061", ONE), ("b", ONE.replace("m", "\\u006d", 1)), ("c", TWO)), GOOD)
folder(None, "one-shard", index(1, ("a", "model.safetensors")), {"model.safetensors": shard("a")})
folder("IX-TOTAL-SIZE", "one-less", index("¦2", *LISTED), GOOD)
folder("IX-TOTAL-SIZE", "one-more", index("¦4", *LISTED), GOOD)
folder("IX-TOTAL-SIZE", "with-headers", index(f"¦{sum(map(len, GOOD.values()))}", *LISTED), GOOD)
folder("IX-TOTAL-SIZE", "zero", index("¦0", *LISTED), GOOD)
folder("IX-TOTAL-SIZE-FORM", "no-metadata", "¦{" + weights(*LISTED) + "}", GOOD)
folder("IX-TOTAL-SIZE-FORM", "metadata-null", '{"metadata":¦null,' + weights(*LISTED) + "}", GOOD)
folder("IX-TOTAL-SIZE-FORM", "not-there", '{"metadata":¦{"total":3},' + weights(*LISTED) + "}", GOOD)
folder("IX-TOTAL-SIZE-FORM", "float", index("¦3.0", *LISTED), GOOD)
folder("IX-TOTAL-SIZE-FORM", "string", index('¦"3"', *LISTED), GOOD)
folder("IX-TOTAL-SIZE-FORM", "2-to-the-64", index(f"¦{1 << 64}", *LISTED), GOOD)
folder("IX-TENSOR-MISSING", "one", index(3, *LISTED, ("¦d", TWO)), GOOD)
folder("IX-TENSOR-MISSING", "empty-shard", index(2, ("a", ONE), ("b", ONE), ("¦c", TWO)), {ONE: shard("a", "b"), TWO: shard()})
folder("IX-TENSOR-MISSING", "case", index(1, ("a", ONE), ("¦A", ONE)), {ONE: shard("a")})
both = {ONE: shard("a", "b"), TWO: shard("c", "b")}
folder("IX-TENSOR-ELSEWHERE", "in-both", index(4, ("a", ONE), ("b", "¦" + ONE), ("c", TWO)), both)
folder("IX-TENSOR-UNLISTED", "one", index(3, ("a", ONE), ("c", TWO), begin="¦"), GOOD)
folder("IX-TENSOR-UNLISTED", "last-layer", index(2, ("a", ONE), begin="¦"), {ONE: shard("a", "a.bias")})
folder("IX-SHARD-MISSING", "second", index(3, ("a", ONE), ("b", ONE), ("c", "¦" + TWO)), {ONE: shard("a", "b")})
folder("IX-SHARD-MISSING", "case", index(1, ("a", "¦Model.safetensors"), ("b", ONE)), {ONE: shard("b")})
folder("IX-SHARD-UNNAMED", "third", index(3, *LISTED, begin="¦"), {**GOOD, "model-00003-of-00003.safetensors": shard("d")})
folder("IX-SHARD-UNNAMED", "consolidated", index(3, *LISTED, begin="¦"), {**GOOD, "consolidated.safetensors": shard("a", "b", "c")})
