"""safetensors: faults within and between entries."""

from st import BYTE, EMPTY, HUNDRED, entry, reject, tensor, with_shape

# Entries.

SPELLINGS = {
    "plain": ("a", "a"),
    "escape-second": ("a", "\\u0061"),
    "escape-first": ("\\u0061", "a"),
    "both-escaped": ("\\u000A", "\\n"),
    "slash": ("a/b", "a\\/b"),
    "empty": ("", ""),
    "surrogate-pair": ("\U0001f600", "\\ud83d\\ude00"),
    "hexadecimal-case": ("\\u00e9", "\\u00E9"),
    "non-ascii": ("é", "\\u00e9"),
    "nul": ("\\u0000", "\\u0000"),
    "longer-than-eight": ("model.layers.0", "model.layers.\\u0030"),
}
for name, (first, second) in SPELLINGS.items():
    reject("ST-DUP-NAME", name, "{" + f'"{first}":{EMPTY},¦"{second}":{EMPTY}' + "}")
    reject("ST-DUP-META-KEY", name, '{"__metadata__":{' + f'"{first}":"1",¦"{second}":"2"' + "}}")
reject(
    "ST-DUP-NAME",
    "other-dtype",
    "{" + tensor("a", "F32", "[1]", 0, 4) + ",¦" + tensor("a", "I32", "[1]", 0, 4) + "}",
    bytes(4),
)
reject(
    "ST-DUP-NAME",
    "other-range",
    "{" + tensor("a", "U8", "[1]", 0, 1) + ",¦" + tensor("a", "U8", "[1]", 1, 2) + "}",
    bytes(2),
)
far = [tensor(f"t{i}", "U8", "[0]", 0, 0) for i in range(40)]
reject("ST-DUP-NAME", "far-apart", "{" + ",".join(far) + ",¦" + far[0] + "}")
reject("ST-DUP-NAME", "three-times", "{" + far[0] + ",¦" + far[0] + "," + far[0] + "}")
reject("ST-DUP-NAME", "two-names-twice", "{" + ",".join([far[2], far[1]]) + ",¦" + ",".join([far[2], far[1]]) + "}")
FIELDS = {"dtype": '"U8"', "shape": "[1]", "data_offsets": "[0,1]"}
ENTRY = ",".join(f'"{field}":{value}' for field, value in FIELDS.items())
for field, value in FIELDS.items():
    reject("ST-DUP-FIELD", field.replace("_", "-"), '{"w":{' + ENTRY + f',¦"{field}":{value}' + "}}", b"\1")
    others = ",".join(f'"{other}":{text}' for other, text in FIELDS.items() if other != field)
    reject("ST-FIELD-MISSING", field.replace("_", "-"), '{"w":¦{' + others + "}}", b"\1")
reject("ST-DUP-FIELD", "escaped", '{"w":{' + ENTRY + ',¦"\\u0073hape":[1]}}', b"\1")
reject("ST-DUP-FIELD", "first", '{"w":{"dtype":"U8",¦"dtype":"U8","shape":[1],"data_offsets":[0,1]}}', b"\1")
reject("ST-FIELD-MISSING", "all", '{"w":¦{}}')
reject("ST-FIELD-MISSING", "second-tensor", "{" + BYTE + ',"v": ¦{ "dtype" : "U8" } }', b"\1")
for name, text in {
    "null": '"x":null',
    "number": '"x":0',
    "nested-arrays": '"x":' + "[" * 120 + "]" * 120,
    "5000-nested-arrays": '"x":' + "[" * 5000 + "]" * 5000,
    "upper-case": '"DTYPE":"U8"',
    "byte-order": '"byte_order":"little"',
    "name-with-nul": '"dtype\\u0000":"U8"',
    "lone-surrogate-inside-value": '"x":"\\ud800"',
}.items():
    reject("ST-FIELD-UNKNOWN", name, '{"w":{' + ENTRY + ",¦" + text + "}}", b"\1")
reject("ST-FIELD-UNKNOWN", "first", '{"w":{¦"x":1,' + ENTRY + "}}", b"\1")
reject("ST-FIELD-UNKNOWN", "metadata-in-entry", '{"w":{¦"__metadata__":{},' + ENTRY + "}}", b"\1")
reject("ST-FIELD-UNKNOWN", "5000-nested-objects", '{"a":{¦"a":' + '{"a":' * 5000)
OBJECT = '{"a":"b"}'
for name, text in {
    "plain": f'"__metadata__":{OBJECT},¦"__metadata__":{OBJECT}',
    "null-then-object": f'"__metadata__":null,¦"__metadata__":{OBJECT}',
    "object-then-null": f'"__metadata__":{OBJECT},¦"__metadata__":null',
    "escaped": f'"__metadata__":{OBJECT},¦"\\u005f_metadata__":{OBJECT}',
    "tensor-called-so": f'"__metadata__":{OBJECT},¦"__metadata__":{EMPTY}',
}.items():
    reject("ST-DUP-METADATA", name, "{" + text + "}")
# More keys than slots are reserved for, since each is there again.
reject("ST-DUP-META-KEY", "a-hundred-empty", '{"__metadata__":{"":"",¦"":""' + ',"":""' * 98 + "}," + BYTE + "}", b"\1")
reject("ST-DUP-META-KEY", "among-a-hundred", '{"__metadata__":{' + HUNDRED + ',¦"k42":"v"}}')
few = ",".join(f'"k{i * 11 % 30:02}":"v"' for i in range(30))
reject("ST-DUP-META-KEY", "among-thirty", '{"__metadata__":{' + few + ',¦"k07":"v"}}')
reject("ST-DUP-META-KEY", "same-value", '{"__metadata__":{"a":"b",¦"a":"b"}}')
WRONG = {"null": "null", "true": "true", "number": "1", "string": '"x"', "array": "[]", "object": "{}"}
for name, value in WRONG.items():
    if name != "object":
        reject("ST-ENTRY-TYPE", name, '{"w":¦' + value + "}")
        if name != "null":
            reject("ST-META-TYPE", name, '{"__metadata__":¦' + value + "}")
    if name != "string":
        reject("ST-DTYPE-TYPE", name, '{"w":{"dtype":¦' + value + ',"shape":[1],"data_offsets":[0,1]}}', b"\1")
        reject("ST-META-VALUE", name, '{"__metadata__":{"a":¦' + value + "}}")
    if name != "array":
        reject("ST-SHAPE-TYPE", name, with_shape("¦" + value, "[0,1]"), b"\1")
        reject("ST-OFFSETS-TYPE", name, with_shape("[1]", "¦" + value), b"\1")
    if name != "number":
        reject("ST-SHAPE-TYPE", f"dim-{name}", with_shape("[1,¦" + value + "]", "[0,1]"), b"\1")
        reject("ST-OFFSETS-TYPE", f"begin-{name}", with_shape("[1]", "[¦" + value + ",1]"), b"\1")
        reject("ST-OFFSETS-TYPE", f"end-{name}", with_shape("[1]", "[0,¦" + value + "]"), b"\1")
reject("ST-ENTRY-TYPE", "struct-as-array", '{"w":¦["U8",[1],[0,1]]}', b"\1")
reject("ST-DTYPE-TYPE", "enum-as-object", '{"w":{"dtype":¦{"U8":null},"shape":[1],"data_offsets":[0,1]}}', b"\1")
reject("ST-META-TYPE", "pairs", '{"__metadata__":¦[["a","b"]]}')
reject("ST-META-TYPE", "nul-for-null", '{"__metadata__":¦nul}')
reject("ST-META-VALUE", "float", '{"__metadata__":{"a":"b","c":¦1.5}}')
reject("ST-META-VALUE", "tensor-called-metadata", '{"__metadata__":{"dtype":"U8","shape":¦[1],"data_offsets":[0,1]}}', b"\1")
reject("ST-SHAPE-TYPE", "trailing-comma", with_shape("[1,¦]", "[0,1]"), b"\1")
reject("ST-SHAPE-TYPE", "fullwidth-digit", with_shape("[¦\uff11]", "[0,1]"), b"\1")
reject("ST-SHAPE-TYPE", "nested", with_shape("[¦[1]]", "[0,1]"), b"\1")
reject("ST-SHAPE-TYPE", "5000-deep", with_shape("[¦" + "[" * 4999 + "]" * 5000, "[0,1]"), b"\1")
reject("ST-SHAPE-TYPE", "not-a-number", with_shape("[¦NaN]", "[0,1]"), b"\1")
reject("ST-OFFSETS-TYPE", "none", with_shape("[1]", "¦[]"), b"\1")
reject("ST-OFFSETS-TYPE", "one", with_shape("[1]", "¦[0]"), b"\1")
reject("ST-OFFSETS-TYPE", "three", with_shape("[1]", "[0,1,¦2]"), b"\1")
for name, tag in {
    "empty": "",
    "lower-case": "u8",
    "leading-space": " U8",
    "trailing-space": "U8 ",
    "f128": "F128",
    "bfloat16": "BFLOAT16",
    "i4": "I4",
    "f6": "F6",
    "c128": "C128",
    "nul-behind": "U8\\u0000",
    "numpy": "<f4",
    "long": "F" * 300,
}.items():
    reject("ST-DTYPE-UNKNOWN", name, '{"w":{"dtype":¦"' + tag + '","shape":[1],"data_offsets":[0,1]}}', b"\1")
