"""safetensors: faults of the frame and of the JSON."""

from st import BYTE, EMPTY, MARK, entry, raw, reject, tensor, with_shape

# The frame.

for length in (0, 1, 7):
    raw("ST-TOO-SHORT", f"{length}-bytes", b"\x02\0\0\0\0\0\0"[:length], length)
for name, n in {
    "one-over": 100_000_001,
    "2-to-the-32-plus-2": (1 << 32) + 2,
    "2-to-the-63": 1 << 63,
    "wraps-to-2": (1 << 64) - 6,
    "all-ones": (1 << 64) - 1,
    "big-endian": 2 << 56,
}.items():
    reject("ST-HEADER-LIMIT", name, "{}", n=n, at=0)
raw("ST-HEADER-LIMIT", "zip-magic", b"PK\x03\x04\x14\0\0\0\x08\0\0\0archive/data.pkl", 0)
raw("ST-HEADER-LIMIT", "html-page", b"<!DOCTYPE html><html>404</html>\n", 0)
raw("ST-HEADER-LIMIT", "lfs-pointer", b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n", 0)
reject("ST-HEADER-LIMIT", "callers-limit", "{" + BYTE + "}", b"\1", at=0, limits="header_len=32")
reject("ST-HEADER-PAST-END", "by-one", "{}", n=3, at=0)
reject("ST-HEADER-PAST-END", "length-only", "", n=2, at=0)
reject("ST-HEADER-PAST-END", "cut-in-header", '{"w":{"dtype":"U8"', n=54, at=0)
reject("ST-HEADER-PAST-END", "at-the-limit", "{}", n=100_000_000, at=0)
for name, space in {"space": " ", "tab": "\t", "newline": "\n", "page": " " * 4096}.items():
    reject("ST-LEADING-SPACE", name, "¦" + space + "{" + BYTE + "}", b"\1")

# JSON.

for name, bad in {
    "lone-continuation": b"\x80",
    "overlong-slash": b"\xc0\xaf",
    "overlong-nul": b"\xe0\x80\x80",
    "surrogate": b"\xed\xa0\x80",
    "above-10ffff": b"\xf4\x90\x80\x80",
    "lead-f5": b"\xf5\x80\x80\x80",
    "cut-sequence": b"\xe2\x82",
}.items():
    reject("JS-UTF8", name, b'{"' + MARK + bad + b'":' + EMPTY.encode() + b"}")
reject("JS-UTF8", "in-unknown-field", b'{"w":{"x":"' + MARK + b'\xff","dtype":"U8","shape":[0],"data_offsets":[0,0]}}')
reject("JS-UTF8", "in-padding", b"{}  " + MARK + b"\xff ")
for name, text in {
    "array": "¦[]",
    "null": "¦null",
    "string": '¦"{}"',
    "number": "¦0",
    "byte-order-mark": "¦\ufeff{}",
    "nul-filled": "¦" + "\0" * 16,
    "space-then-array": " ¦[]",
    "pair-of-objects": "¦[{},{}]",
}.items():
    reject("JS-NOT-OBJECT", name, text)
reject("JS-NOT-OBJECT", "utf16-big-endian", MARK + "{}".encode("utf-16-be"))
reject("JS-KEY", "utf16-little-endian", b"{" + MARK + "{}".encode("utf-16-le")[1:])
for name, text in {
    "empty": "¦",
    "only-spaces": "   ¦",
    "open-brace": "{¦",
    "in-key": '{"w¦',
    "after-key": '{"w"¦',
    "after-colon": '{"w":¦',
    "in-entry": '{"w":{¦',
    "in-field-key": '{"w":{"dty¦',
    "in-dtype": '{"w":{"dtype":"U8¦',
    "in-shape": '{"w":{"dtype":"U8","shape":[0¦',
    "in-offsets": '{"w":{"dtype":"U8","shape":[0],"data_offsets":[0,¦',
    "after-entry": '{"w":' + EMPTY + "¦",
    "after-comma": '{"w":' + EMPTY + ",¦",
    "in-metadata": '{"__metadata__":{"a":"b"¦',
    "in-metadata-value": '{"__metadata__":{"a":"b¦',
    "deep-objects": '{"a":{¦',
    "deep-shape-cut": '{"w":{"dtype":"U8","shape":[¦',
}.items():
    reject("JS-END", name, text)
reject("JS-END", "cut-by-one", "{" + BYTE + "¦", b"}")
for name, tail in {
    "nul": "\0",
    "form-feed": "\f",
    "letters": "xyz",
    "second-object": "{}",
    "no-break-space": "\u00a0",
    "brace": "}",
    "old-writer-metadata": ',"__metadata__":{}}',
}.items():
    reject("JS-TRAILING", name, "{}¦" + tail)
reject("JS-TRAILING", "into-data", "{" + BYTE + "}  ¦\1")
for name, text in {
    "number": "{¦1:" + EMPTY + "}",
    "bare-word": "{¦w:" + EMPTY + "}",
    "single-quotes": "{¦'w':" + EMPTY + "}",
    "leading-comma": "{¦," + BYTE + "}",
    "trailing-comma": "{" + BYTE + ",¦}",
    "two-commas": "{" + BYTE + ",¦," + tensor("v", "U8", "[0]", 1, 1) + "}",
    "line-comment": "{¦//c\n" + BYTE + "}",
    "block-comment": "{ ¦/*c*/" + BYTE + "}",
    "form-feed": "{¦\f" + BYTE + "}",
    "array": "{¦[" + BYTE + "]}",
    "field-number": '{"w":{¦1:2}}',
    "field-trailing-comma": '{"w":{"dtype":"U8","shape":[1],"data_offsets":[0,1],¦}}',
    "metadata-key-null": '{"__metadata__":{¦null:"a"}}',
}.items():
    reject("JS-KEY", name, text, b"\1")
for name, text in {
    "equals": '{"w"¦=' + EMPTY + "}",
    "none": '{"w"¦' + EMPTY + "}",
    "comma": '{"w"¦,"v"}',
    "in-entry": '{"w":{"dtype" ¦"U8"}}',
    "in-metadata": '{"__metadata__":{"a"¦}}',
    "end-of-object": '{"w" ¦}',
}.items():
    reject("JS-COLON", name, text)
for name, text in {
    "between-tensors": "{" + BYTE + " ¦" + tensor("v", "U8", "[0]", 1, 1) + "}",
    "between-fields": '{"w":{"dtype":"U8"¦"shape":[1],"data_offsets":[0,1]}}',
    "between-dims": with_shape("[1 ¦1]", "[0,1]"),
    "between-offsets": with_shape("[1]", "[0¦;1]"),
    "between-metadata": '{"__metadata__":{"a":"b"¦;"c":"d"}}',
    "bracket-closes-object": "{" + BYTE + "¦]",
    "brace-closes-shape": with_shape("[1¦}", "[0,1]"),
    "form-feed": "{" + BYTE + "¦\f}",
    "hexadecimal-digit": with_shape("[1¦a]", "[0,26]"),
}.items():
    reject("JS-COMMA", name, text, b"\1")
for code in (0x00, 0x09, 0x0A, 0x1F):
    reject("JS-CONTROL", f"name-{code:02x}", '{"a¦' + chr(code) + 'b":' + EMPTY + "}")
reject("JS-CONTROL", "behind-eight-plain-bytes", '{"abcdefghij¦\x01klmnopqrstu":' + EMPTY + "}")
reject("JS-CONTROL", "dtype", '{"w":{"dtype":"U8¦\0","shape":[0],"data_offsets":[0,0]}}')
reject("JS-CONTROL", "metadata-value", '{"__metadata__":{"a":"¦\x1b[2J"}}')
for name, text in {
    "x": "¦\\x41",
    "single-quote": "¦\\'",
    "upper-u": "¦\\U0041",
    "short-u": "¦\\u41",
    "not-hexadecimal": "¦\\u00g0",
    "sign-in-hexadecimal": "¦\\u+123",
    "octal": "¦\\0",
    "behind-good-ones": "\\n\\u0041¦\\v",
    "before-non-ascii": "¦\\é",
}.items():
    reject("JS-ESCAPE", name, '{"' + text + '":' + EMPTY + "}")
reject("JS-ESCAPE", "metadata-value", '{"__metadata__":{"a":"¦\\a"}}')
for name, text in {
    "lone-high": "¦\\ud800",
    "lone-low": "¦\\udc00",
    "swapped": "¦\\ude00\\ud83d",
    "high-then-letter": "¦\\ud83dA",
    "high-high-low": "¦\\ud83d\\ud83d\\ude00",
    "high-then-escape": "¦\\ud83d\\n",
    "high-then-plain-unit": "¦\\ud83d\\u0041",
    "behind-a-pair": "\\ud83d\\ude00¦\\ude00",
}.items():
    reject("JS-SURROGATE", name, '{"' + text + '":' + EMPTY + "}")
reject("JS-SURROGATE", "metadata-value", '{"__metadata__":{"a":"¦\\ud800"}}')
for name, number in {
    "fraction": "2.0",
    "exponent": "2e0",
    "upper-exponent": "2E0",
    "minus": "-2",
    "minus-zero": "-0",
    "bare-minus": "-",
    "plus": "+2",
    "leading-zero": "02",
    "zeros": "00",
    "octal": "0o2",
    "hexadecimal": "0x2",
    "underscore": "1_0",
    "trailing-dot": "2.",
    "leading-dot": ".2",
    "zero-exponent": "0e0",
    "huge-exponent": "1e400",
    "hundred-zeros": "0" * 100,
}.items():
    reject("JS-INTEGER", f"dim-{name}", with_shape(f"[¦{number}]"), b"\1\2")
reject("JS-INTEGER", "second-dim", with_shape("[2,¦1.0]"), b"\1\2")
reject("JS-INTEGER", "begin-minus-one", with_shape("[2]", "[¦-1,1]"), b"\1\2")
# The member before is read letter by letter for its escape, this one in one step: nothing may be carried over between.
for name, begin in {"minus": "-", "plus": "+", "dot": ".", "minus-zero": "-0", "leading-zero": "00"}.items():
    lying = '"A":' + entry("U8", "[0]", "¦" + begin, 0) + ',"b":' + EMPTY
    reject("JS-INTEGER", f"begin-{name}-behind-an-escape", '{"\\n":' + EMPTY + "," + lying + "}")
reject("JS-INTEGER", "end-fraction", with_shape("[2]", "[0,¦2.0]"), b"\1\2")
reject("JS-INTEGER", "end-leading-zero", with_shape("[2]", "[0,¦02]"), b"\1\2")
for name, number in {"2-to-the-64": str(1 << 64), "hundred-digits": "9" * 100, "21-digits": "100000000000000000000"}.items():
    reject("JS-RANGE", f"dim-{name}", with_shape(f"[0,¦{number}]", "[0,0]"))
reject("JS-RANGE", "end-2-to-the-64", with_shape("[1]", f"[0,¦{1 << 64}]"))
reject("JS-RANGE", "begin-2-to-the-64", with_shape("[1]", f"[¦{1 << 64},{(1 << 64) - 1}]"))
