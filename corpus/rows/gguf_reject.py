"""GGUF: what must be refused."""

from gg import ARRAY, AT, BIG, BOOL, F32, I32, LITTLE, STRING, U8, U32, U64, joined, model, padded, reject

PAIR = LITTLE.pair("k", U8, 1)
TOP = (1 << 64) - 1
MOST = (1 << 63) - 1

# The first 24 bytes.

for name, magic in {"zeros": bytes(4), "lower-case": b"gguf", "older": b"tjgg", "zip": b"PK\3\4", "cut": b"GGU\0"}.items():
    reject("GG-MAGIC", name, AT, magic, LITTLE.frame()[1:])
reject("GG-MAGIC", "seven-bytes-before", AT, bytes(7), LITTLE.frame())
reject("GG-MAGIC-REVERSED", "little-endian", AT, b"FUGG", LITTLE.frame()[1:])
reject("GG-MAGIC-REVERSED", "big-endian", AT, b"FUGG", BIG.frame()[1:])
text = b"".join(LITTLE.frame()).decode("latin-1")
for name, form, mark in (("little-endian", "utf-16-le", b"\xff\xfe"), ("big-endian", "utf-16-be", b"\xfe\xff")):
    reject("GG-MAGIC-UTF16", name, AT, text.encode(form))
    reject("GG-MAGIC-UTF16", f"{name}-marked", AT, mark, text.encode(form))
whole = b"".join(LITTLE.frame())
for begin, lengths in ((0, (0, 1, 3)), (4, (4, 7)), (8, (8, 15)), (16, (16, 23))):
    for length in lengths:
        reject("GG-TOO-SHORT", f"{length}-bytes", whole[:begin], AT, whole[begin:length])


def versioned(code, name, version):
    reject(code, name, b"GGUF", AT, version, bytes(16))


for version in (0, 4, 199181, TOP >> 32):
    versioned("GG-VERSION", str(version), LITTLE.u32(version))
versioned("GG-VERSION-1", "little-endian", LITTLE.u32(1))
versioned("GG-VERSION-1", "big-endian", BIG.u32(1))
versioned("GG-VERSION-2-BIG", "minimal", BIG.u32(2))
versioned("GG-VERSION-SWAPPED", "4-big-endian", BIG.u32(4))
versioned("GG-VERSION-SWAPPED", "3-in-the-wrong-half", LITTLE.u32(3 << 16))

# An info takes 25 bytes at the least, a pair 14.
for name, count, room in (
    ("one-of-none", 1, 0), ("one-of-24-bytes", 1, 24), ("three-of-74-bytes", 3, 74), ("wraps-with-the-struct", 209622091746699451, 64),
    ("sign-bit", 1 << 63, 64), ("all-ones", TOP, 64),
):  # fmt: skip
    reject("GG-TENSOR-COUNT", name, LITTLE.frame()[:2], AT, LITTLE.u64(count), LITTLE.u64(0), bytes(room))
for name, count, room in (
    ("one-of-none", 1, 0), ("one-of-13-bytes", 1, 13), ("wraps-with-the-struct", 329406144173384851, 64), ("sign-bit", 1 << 63, 64),
    ("all-ones", TOP, 64),
):  # fmt: skip
    reject("GG-KV-COUNT", name, LITTLE.frame()[:3], AT, LITTLE.u64(count), bytes(room))
reject("GG-KV-COUNT", "no-room-beside-a-tensor", LITTLE.frame(tensors=1)[:3], AT, LITTLE.u64(1), bytes(38))
# The pair takes the room of the tensor that was counted on 25 bytes.
longer = LITTLE.pair("k", STRING, "x" * 10)
reject("GG-TENSOR-COUNT", "taken-by-a-pair", LITTLE.frame()[:2], AT, LITTLE.u64(1), LITTLE.u64(1), longer, bytes(24))

# The file ends.

reject("GG-END", "value-u64", LITTLE.frame(0, 1), LITTLE.string("k"), LITTLE.u32(U64), AT, bytes(7))
reject("GG-END", "type", LITTLE.frame(0, 1), LITTLE.string("abcd"), AT, bytes(3))
reject("GG-END", "string-length", LITTLE.frame(0, 1), LITTLE.string("k"), LITTLE.u32(STRING), AT, bytes(7))
reject("GG-END", "element-type", LITTLE.frame(0, 1), LITTLE.string("k"), LITTLE.u32(ARRAY), AT, bytes(2))
reject("GG-END", "array-count", LITTLE.frame(0, 1), LITTLE.string("k"), LITTLE.u32(ARRAY), LITTLE.u32(U8), AT, bytes(7))
reject("GG-END", "second-key", LITTLE.frame(0, 2), LITTLE.pair("k", U64, 0), AT, bytes(7))
reject("GG-END", "rank", LITTLE.frame(1), LITTLE.string("n" * 20), AT, bytes(3))
reject("GG-END", "dimension", LITTLE.frame(1), LITTLE.string("w"), LITTLE.u32(3), LITTLE.u64(1), AT, bytes(7))
reject("GG-END", "tensor-type", LITTLE.frame(1), LITTLE.string("w"), LITTLE.u32(2), LITTLE.u64(1), LITTLE.u64(1), AT, bytes(3))
reject("GG-END", "offset", LITTLE.frame(1), LITTLE.string("w"), LITTLE.u32(1), LITTLE.u64(1), LITTLE.u32(0), AT, bytes(7))
for name, length in {"key-by-one": 7, "key-1-gib": 1 << 30}.items():
    code = "GG-STRING-PAST-END" if length <= 65535 else "GG-LIMIT-KEY"
    reject(code, name, LITTLE.frame(0, 1), AT, LITTLE.u64(length), bytes(6))
for name, length in {"value-by-one": 4, "value-1-gib": 1 << 30}.items():
    reject("GG-STRING-PAST-END", name, LITTLE.frame(0, 1), LITTLE.string("k"), LITTLE.u32(STRING), AT, LITTLE.u64(length), bytes(3))
reject("GG-STRING-PAST-END", "name-by-one", LITTLE.frame(1), AT, LITTLE.u64(18), bytes(17))
elements = LITTLE.frame(0, 1), LITTLE.string("k"), LITTLE.u32(ARRAY), LITTLE.u32(STRING), LITTLE.u64(2), LITTLE.string("ab")
reject("GG-STRING-PAST-END", "second-of-an-array", elements, AT, LITTLE.u64(100), b"x")
# Where there are many strings the reader looks for them in several places at once.
count = 1200
many = LITTLE.frame(0, 1), LITTLE.string("k"), LITTLE.u32(ARRAY), LITTLE.u32(STRING), LITTLE.u64(count)
for name, before in {"first-of-1200": 0, "600th-of-1200": 599, "last-of-1200": count - 1}.items():
    reject("GG-STRING-PAST-END", name, many, bytes(8 * before), AT, LITTLE.u64(1 << 20), bytes(8 * (count - 1 - before)))
reject("GG-STRING-PAST-END", "big-endian", BIG.frame(0, 1), AT, BIG.u64(256), bytes(6))


def array(count, kind, rest):
    return LITTLE.frame(0, 1), LITTLE.string("k"), LITTLE.u32(ARRAY), LITTLE.u32(kind), AT, LITTLE.u64(count), bytes(rest)


reject("GG-ARRAY-PAST-END", "u8-by-one", array(5, U8, 4))
reject("GG-ARRAY-PAST-END", "f32-bytes-for-elements", array(4, F32, 4))
reject("GG-ARRAY-PAST-END", "u64-by-a-byte", array(2, U64, 15))
reject("GG-ARRAY-PAST-END", "strings-of-8-bytes-each", array(2, STRING, 15))
reject("GG-ARRAY-PAST-END", "2-to-the-30", array(1 << 30, U8, 8))
for name, kind, count in (("u8-2-to-the-63", U8, 1 << 63), ("u64-wraps", U64, (1 << 61) + 1), ("strings-wrap-times-16", STRING, (1 << 60) + 1),
                          ("u8-all-ones", U8, TOP), ("u8-2-to-the-30-and-one", U8, (1 << 30) + 1)):  # fmt: skip
    reject("GG-LIMIT-ARRAY", name, array(count, kind, 16))

# Pairs.

reject("GG-KEY-EMPTY", "alone", LITTLE.frame(0, 1), AT, LITTLE.pair("", U32, 1))
reject("GG-KEY-EMPTY", "second", LITTLE.frame(0, 2), PAIR, AT, LITTLE.pair("", U32, 1))
for name, before, after in (
    ("nul", b"a", b"\0b"), ("alignment-and-nul", b"general.alignment", b"\0"), ("newline", b"", b"\n"), ("delete", b"a", b"\x7f"),
    ("escape", b"k", b"\x1b[2J"), ("not-utf8", b"a.", b"\xff"), ("outside-ascii", b"caf", "é".encode()),
):  # fmt: skip
    length = len(before + after)
    reject("GG-KEY-CHARSET", name, LITTLE.frame(0, 1), LITTLE.u64(length), before, AT, after, LITTLE.u32(U32), LITTLE.u32(32))


def second(key):
    """The mark is at the key's bytes, behind their length."""
    return [LITTLE.u64(len(key)), AT, key.encode(), LITTLE.u32(U8), b"\1"]


reject("GG-KEY-DUP", "same-value", LITTLE.frame(0, 2), PAIR, second("k"))
reject("GG-KEY-DUP", "other-type", LITTLE.frame(0, 2), LITTLE.pair("k", STRING, "a"), second("k"))
reject("GG-KEY-DUP", "alignment", LITTLE.frame(0, 2), LITTLE.pair("general.alignment", U32, 32),
       LITTLE.u64(17), AT, b"general.alignment", LITTLE.u32(U32), LITTLE.u32(64))  # fmt: skip
reject("GG-KEY-DUP", "not-beside-each-other", LITTLE.frame(0, 4), PAIR, [LITTLE.pair(key, U8, 1) for key in "ab"], second("k"))
# The first key that stood before is told, not the first that stands again.
reject("GG-KEY-DUP", "two-of-them", LITTLE.frame(0, 4), [LITTLE.pair(key, U8, 1) for key in "ab"], second("b"), LITTLE.pair("a", U8, 1))
for name, kind in {"13": 13, "255": 255, "2-to-the-31": 1 << 31, "all-ones": TOP >> 32}.items():
    reject("GG-KV-TYPE", name, LITTLE.frame(0, 1), LITTLE.string("k"), AT, LITTLE.u32(kind), bytes(16))
    reject("GG-ARRAY-TYPE", name, LITTLE.frame(0, 1), LITTLE.string("k"), LITTLE.u32(ARRAY), AT, LITTLE.u32(kind), LITTLE.u64(1), bytes(8))
reject("GG-KV-TYPE", "in-the-other-order", LITTLE.frame(0, 1), LITTLE.string("k"), AT, BIG.u32(U32), bytes(4))
reject("GG-ARRAY-TYPE", "empty-array", LITTLE.frame(0, 1), LITTLE.string("k"), LITTLE.u32(ARRAY), AT, LITTLE.u32(13), LITTLE.u64(0))
nest = [LITTLE.u32(ARRAY), LITTLE.u64(1)]
reject("GG-ARRAY-NESTED", "two-deep", LITTLE.frame(0, 1), LITTLE.string("k"), LITTLE.u32(ARRAY), AT, nest, LITTLE.u32(U8), LITTLE.u64(0))
reject("GG-ARRAY-NESTED", "empty", LITTLE.frame(0, 1), LITTLE.string("k"), LITTLE.u32(ARRAY), AT, LITTLE.u32(ARRAY), LITTLE.u64(0))
deep = nest * 300
levels = len(joined(nest)[0])
reject("GG-ARRAY-NESTED", "300-deep", LITTLE.frame(0, 1), LITTLE.string("k"), LITTLE.u32(ARRAY), AT, deep, LITTLE.u32(U8), LITTLE.u64(0),
       still=("GG-ARRAY-NESTED", 8 * levels))  # fmt: skip


def nested(name, *parts, **relaxed):
    reject("GG-ARRAY-NESTED", name, LITTLE.frame(0, 1), LITTLE.string("k"), LITTLE.u32(ARRAY), AT, *parts, **relaxed)


nested("eight-deep", nest * 8, LITTLE.u32(F32), LITTLE.u64(1), LITTLE.number(F32, 0.5), count=8)
nested("nine-deep", nest * 9, LITTLE.u32(U8), LITTLE.u64(0), still=("GG-ARRAY-NESTED", 8 * levels))
strings = [LITTLE.u32(STRING), LITTLE.u64(2), LITTLE.string("one"), LITTLE.string("")]
bools = [LITTLE.u32(BOOL), LITTLE.u64(3), b"\1\0\1"]
of_arrays = [LITTLE.u32(ARRAY), LITTLE.u64(2), bools, LITTLE.u32(ARRAY), LITTLE.u64(0)]
nested("of-every-kind", LITTLE.u32(ARRAY), LITTLE.u64(4), strings, of_arrays, LITTLE.u32(U64), LITTLE.u64(0), LITTLE.u32(I32), LITTLE.u64(1),
       LITTLE.number(I32, -9), count=3)  # fmt: skip
# What stands inside is looked at in the same way: the type of an array, 4 bytes before its count.
for name, claimed, code in (("count-past-end", 3, "GG-ARRAY-PAST-END"), ("count-all-ones", TOP, "GG-LIMIT-ARRAY")):
    nested(f"inner-{name}", nest, LITTLE.u32(ARRAY), LITTLE.u64(claimed), bytes(24), still=(code, levels + 4))
nested("inner-bool", nest, LITTLE.u32(BOOL), LITTLE.u64(2), b"\1\2", still=("GG-BOOL", 2 * levels + 1))
nested("inner-type", nest, LITTLE.u32(13), LITTLE.u64(0), still=("GG-ARRAY-TYPE", levels))
reject("GG-BOOL", "two", LITTLE.frame(0, 1), LITTLE.string("k"), LITTLE.u32(BOOL), AT, b"\2")
reject("GG-BOOL", "255", LITTLE.frame(0, 1), LITTLE.string("k"), LITTLE.u32(BOOL), AT, b"\xff")
reject("GG-BOOL", "third-of-an-array", LITTLE.frame(0, 1), LITTLE.string("k"), LITTLE.u32(ARRAY), LITTLE.u32(BOOL), LITTLE.u64(4),
       b"\0\1", AT, b"\2\3")  # fmt: skip
for name, before, after in (
    ("stray", b"ab", b"\xffc"), ("overlong", b"", b"\xc0\xaf"), ("surrogate", b"a", b"\xed\xa0\x80"), ("cut", b"x", b"\xe2\x82"),
):  # fmt: skip
    length = LITTLE.u64(len(before + after))
    reject("GG-STRING-UTF8", name, LITTLE.frame(0, 1), LITTLE.string("k"), LITTLE.u32(STRING), length, before, AT, after)
    array_of = LITTLE.frame(0, 1), LITTLE.string("k"), LITTLE.u32(ARRAY), LITTLE.u32(STRING), LITTLE.u64(2), LITTLE.string("é")
    reject("GG-ARRAY-UTF8", name, array_of, length, before, AT, after, limits="array_text=1")
    # Lengths over 127 are no ASCII, and end what can be looked at together.
    longer = LITTLE.frame(0, 1), LITTLE.string("k"), LITTLE.u32(ARRAY), LITTLE.u32(STRING), LITTLE.u64(3), LITTLE.string("é" * 64)
    reject("GG-ARRAY-UTF8", f"{name}-between-long-ones", longer, length, before, AT, after, LITTLE.string("é" * 64), limits="array_text=1")
for name, kind, value in (
    ("u8", U8, 32), ("i32", I32, 32), ("u64", U64, 32), ("f32", F32, 32.0), ("string", STRING, "32"), ("bool", BOOL, 1),
):  # fmt: skip
    value = LITTLE.string(value) if kind == STRING else LITTLE.number(kind, value)
    reject("GG-ALIGN-TYPE", name, LITTLE.frame(0, 1), LITTLE.string("general.alignment"), AT, LITTLE.u32(kind), value)
reject("GG-ALIGN-TYPE", "array", LITTLE.frame(0, 1), LITTLE.string("general.alignment"), AT, LITTLE.u32(ARRAY),
       LITTLE.u32(U32), LITTLE.u64(1), LITTLE.u32(32))  # fmt: skip
for value in (0, 3, 24, 33, TOP >> 32):
    reject("GG-ALIGN-VALUE", str(value), LITTLE.frame(0, 1), LITTLE.string("general.alignment"), LITTLE.u32(U32), AT, LITTLE.u32(value))
reject("GG-ALIGN-VALUE", "zero-with-a-tensor", padded([LITTLE.frame(1, 1), LITTLE.string("general.alignment"), LITTLE.u32(U32), AT,
       LITTLE.u32(0), LITTLE.info("w", [4], 24)]), bytes(4))  # fmt: skip

# Tensor infos.


def info(*parts, data=b""):
    """One info; what is given stands behind the frame."""
    return padded([LITTLE.frame(1), *parts]), data


def after_name(*dims, kind=24, offset=0):
    """What stands behind the name, up to the dimension that is marked by AT before it."""
    count = sum(dim is not AT for dim in dims)
    listed = [dim if dim is AT else LITTLE.u64(dim) for dim in dims]
    return [LITTLE.string("w"), LITTLE.u32(count), listed, LITTLE.u32(kind), LITTLE.u64(offset)]


reject("GG-NAME-EMPTY", "alone", info(AT, LITTLE.info("", [1], 24), data=b"\1"))
reject("GG-NAME-EMPTY", "count-too-large", LITTLE.frame(1), AT, bytes(25))
for name, before, after in (("stray", b"a", b"\xff"), ("overlong", b"", b"\xc1\xa1"), ("surrogate", b"w", b"\xed\xb0\x80")):
    reject("GG-NAME-UTF8", name, info(LITTLE.u64(len(before + after)), before, AT, after, LITTLE.info("", [0])[1:]))
for name, before, after in (("nul", "a", "\0b"), ("newline", "", "\n"), ("delete", "a", "\x7f"), ("c1", "é", "\x85"), ("escape", "w", "\x1b[A")):
    before, after = before.encode(), after.encode()
    reject("GG-NAME-CONTROL", name, info(LITTLE.u64(len(before + after)), before, AT, after, LITTLE.info("", [0])[1:]))
twice = [LITTLE.u64(1), AT, b"a", LITTLE.info("", [0])[1:]]
reject("GG-NAME-DUP", "beside-each-other", padded([LITTLE.frame(2), LITTLE.info("a", [0]), twice]))
reject("GG-NAME-DUP", "other-type", padded([LITTLE.frame(2), LITTLE.info("a", [0], 1), twice]))
reject("GG-NAME-DUP", "third", padded([LITTLE.frame(3), LITTLE.info("b", [0]), LITTLE.info("a", [0]), twice]))
for name, dims in {"minus-one": (AT, TOP), "least": (AT, 1 << 63), "second": (1, AT, TOP), "beside-zero": (0, AT, 1 << 63)}.items():
    reject("GG-DIM-NEGATIVE", name, info(after_name(*dims)))
for name, dims in {
    "wraps-to-zero": (1 << 32, AT, 1 << 32),
    "negative": (MOST, AT, 2),
    "wraps-to-a-small-one": ((1 << 32) + 1, AT, 1 << 32),
    "equal-to-the-limit": ((1 << 62) - 1, AT, 2),
    "third-of-the-limit": (3, AT, MOST // 3),
    "huge-before-zero": (MOST, AT, MOST, 0),
    "fourth": (1 << 20, 1 << 20, 1 << 20, AT, 1 << 20),
}.items():
    reject("GG-SHAPE-OVERFLOW", name, info(after_name(*dims)))


def typed(code, name, kind, dim=256):
    # Tolerated, the tensor has a byte at the least, of which there is none: the offset behind its type says where.
    infos = info(LITTLE.string("w"), LITTLE.u32(1), LITTLE.u64(dim), AT, LITTLE.u32(kind), LITTLE.u64(0))
    reject(code, name, infos, still=("GG-DATA-SHORT", 4))


for name, kind in {"43": 43, "133": 133, "2-to-the-31": 1 << 31, "all-ones": TOP >> 32}.items():
    typed("GG-TYPE-UNKNOWN", name, kind)
for kind in (4, 5, 31, 32, 33, 36, 37, 38):
    typed("GG-TYPE-REMOVED", str(kind), kind)
# The next tensor begins at some multiple of the alignment behind it. Behind the mark stand the type and the offset, then name,
# rank, a dimension and the type of the next.
behind = 12 + 9 + 4 + 8 + 4
for name, offset, still in (
    ("another-behind", 32, None), ("another-further-behind", 96, None), ("another-at-its-place", 0, ("GG-OFFSET-OVERLAP", behind)),
    ("another-at-31", 31, ("GG-OFFSET-OVERLAP", behind)), ("another-at-33", 33, ("GG-OFFSET-GAP", behind)),
    ("another-past-the-end", 128, ("GG-DATA-SHORT", behind)),
):  # fmt: skip
    first = [LITTLE.string("a"), LITTLE.u32(1), LITTLE.u64(40), AT, LITTLE.u32(133), LITTLE.u64(0)]
    there = bytes(offset + 32 if offset < 128 else 128)
    reject("GG-TYPE-UNKNOWN", name, model(first, LITTLE.info("b", [8], 0, offset), data=there), still=still)
removed = [LITTLE.string("w"), LITTLE.u32(1), LITTLE.u64(40), AT, LITTLE.u32(36), LITTLE.u64(0)]
reject("GG-TYPE-REMOVED", "with-data", model(removed, data=bytes(77)))
for name, kind, dims in (("33-of-32", 2, [33]), ("one-of-32", 8, [1]), ("128-of-256", 12, [128]), ("whole-in-sum-only", 2, [16, 2])):
    reject("GG-ROW-BLOCKS", name, info(LITTLE.string("w"), LITTLE.u32(len(dims)), AT, LITTLE.info("", dims, kind)[2:]))
# Without a dimension there is one element, and the mark stands where the first would.
reject("GG-ROW-BLOCKS", "scalar", info(LITTLE.string("w"), LITTLE.u32(0), AT, LITTLE.u32(2), LITTLE.u64(0)))


def sized(name, dims, kind):
    reject("GG-SIZE-OVERFLOW", name, info(LITTLE.string("w"), LITTLE.u32(len(dims)), AT, LITTLE.info("", dims, kind)[2:]))


sized("f32-wraps-to-zero", [1 << 62], 0)
sized("f32-wraps-in-three-dims", [1024, 1024, (1 << 42) + 1], 0)
sized("f64-largest-dim", [MOST], 28)
# 2^64 - 4 bytes, which is more when it is padded.
sized("padding-wraps", [(1 << 62) - 1], 0)
half = (1 << 63) - 64
sum_of = [LITTLE.info("a", [half], 24), LITTLE.info("b", [half], 24, half)]
last = [LITTLE.string("c"), LITTLE.u32(1), AT, LITTLE.u64(256), LITTLE.u32(24), LITTLE.u64(2 * half)]
reject("GG-SIZE-OVERFLOW", "sum-of-three", padded([LITTLE.frame(3), sum_of, last]))


def placed(code, name, *offsets, lie, size=1, data=64):
    """Tensors of `size` bytes at these offsets; the one that lies is marked at its offset."""
    parts = []
    for at, offset in enumerate(offsets):
        parts += [LITTLE.info(chr(97 + at), [size], 24)[:-1], AT if at == lie else [], LITTLE.u64(offset)]
    reject(code, name, padded([LITTLE.frame(len(offsets)), parts]), bytes(data))


placed("GG-OFFSET-GAP", "first-not-zero", 32, lie=0)
placed("GG-OFFSET-GAP", "a-block", 0, 64, lie=1, data=96)
placed("GG-OFFSET-GAP", "by-one", 0, 33, lie=1)
placed("GG-OFFSET-GAP", "past-the-end", 0, 1 << 20, lie=1)
placed("GG-OFFSET-GAP", "all-ones", 0, TOP, lie=1)
placed("GG-OFFSET-GAP", "absolute", 64, lie=0, data=32)
placed("GG-OFFSET-OVERLAP", "same", 0, 0, lie=1)
placed("GG-OFFSET-OVERLAP", "in-the-padding", 0, 16, lie=1)
placed("GG-OFFSET-OVERLAP", "partial", 0, 32, lie=1, size=64, data=128)
placed("GG-OFFSET-OVERLAP", "third", 0, 32, 32, lie=2, data=96)

# The data section.

head, _ = joined(LITTLE.frame(1), LITTLE.info("w", [0], 24))
reject("GG-PADDING-SHORT", "none", head, AT)
reject("GG-PADDING-SHORT", "by-one", head, AT, bytes(-len(head) % 32 - 1))
pair = LITTLE.pair("general.alignment", U32, 1 << 31)
reject("GG-PADDING-SHORT", "2-to-the-31", LITTLE.frame(1, 1), pair, LITTLE.info("w", [0], 24), AT, bytes(64))
space = -len(head) % 32
reject("GG-PADDING-NONZERO", "first-byte", head, AT, b"\1", bytes(space - 1))
reject("GG-PADDING-NONZERO", "last-byte", head, bytes(space - 1), AT, b"\1")
full = padded([LITTLE.frame(2), LITTLE.info("a", [1], 24), LITTLE.info("b", [1], 24, 32)])
reject("GG-PADDING-NONZERO", "between-tensors", full, b"\1", bytes(7), AT, b"x", bytes(23), b"\1")
reject("GG-PADDING-NONZERO", "behind-the-last", full, b"\1", bytes(31), b"\1", AT, b"PK")
reject("GG-PADDING-NONZERO", "no-tensors", LITTLE.frame(), bytes(2), AT, b"\1")
one = [LITTLE.info("w", [4], 24)[:-1], AT, LITTLE.u64(0)]
for name, there in {"no-data": 0, "by-one": 3}.items():
    reject("GG-DATA-SHORT", name, padded([LITTLE.frame(1), one]), bytes(there))
exa = [LITTLE.info("w", [1 << 60], 24)[:-1], AT, LITTLE.u64(0)]
reject("GG-DATA-SHORT", "an-exabyte", padded([LITTLE.frame(1), exa]), bytes(64))
first = LITTLE.info("a", [1], 24)
second_short = [LITTLE.info("b", [2], 24)[:-1], AT, LITTLE.u64(32)]
reject("GG-DATA-SHORT", "second", padded([LITTLE.frame(2), first, second_short]), bytes(33))
# Both end past the end: the first is told.
two_rows = [LITTLE.info("a", [8]), LITTLE.info("b", [8], 0, 32)[:-1], AT, LITTLE.u64(32)]
reject("GG-DATA-SHORT", "right-behind-the-first", padded([LITTLE.frame(2), two_rows]), bytes(32))
reject("GG-DATA-SHORT", "first-of-two", padded([LITTLE.frame(2), one, LITTLE.info("b", [1], 24, 32)]), bytes(3))
whole, _ = joined(model(LITTLE.info("w", [4], 24), data=bytes(32)))
reject("GG-DATA-TRAILING", "by-one", whole, AT, b"\0")
reject("GG-DATA-TRAILING", "zeros", whole, AT, bytes(32))
reject("GG-DATA-TRAILING", "zip", whole, AT, b"PK\5\6", bytes(18))
reject("GG-DATA-TRAILING", "no-tensors", LITTLE.frame(), bytes(8), AT, b"\0")
# The counts say less than there is: what they leave out is taken for data.
reject("GG-DATA-TRAILING", "tensor-not-counted", LITTLE.frame(0, 0), bytes(8), AT, LITTLE.info("w", [1], 24))

# The caller's limits.

pairs = [LITTLE.pair(key, U8, 1) for key in "abc"]
reject("GG-LIMIT-METADATA", "second-key", LITTLE.frame(0, 2), pairs[0], AT, pairs[1], limits="metadata_len=45")
reject("GG-LIMIT-METADATA", "value", LITTLE.frame(0, 1), LITTLE.string("k"), LITTLE.u32(STRING), AT, LITTLE.string("value"),
       limits="metadata_len=49")  # fmt: skip
reject("GG-LIMIT-METADATA", "array", LITTLE.frame(0, 1), LITTLE.string("k"), LITTLE.u32(ARRAY), LITTLE.u32(U8), AT, LITTLE.u64(8),
       bytes(8), limits="metadata_len=56")  # fmt: skip
reject("GG-LIMIT-METADATA", "tensor-info", model(LITTLE.info("w", [4], 24)[:-1] + [AT, LITTLE.u64(0)], data=bytes(4)), limits="metadata_len=50")
reject("GG-LIMIT-KEYS", "three-of-two", LITTLE.frame()[:3], AT, LITTLE.u64(3), pairs, limits="metadata_keys=2")
reject("GG-LIMIT-KEYS", "one-of-none", LITTLE.frame()[:3], AT, LITTLE.u64(1), pairs[:1], limits="metadata_keys=0")
infos = [LITTLE.info(name, [0]) for name in "abc"]
reject("GG-LIMIT-TENSORS", "three-of-two", padded([LITTLE.frame()[:2], AT, LITTLE.u64(3), LITTLE.u64(0), infos]), limits="tensors=2")
reject("GG-LIMIT-TENSORS", "one-of-none", padded([LITTLE.frame()[:2], AT, LITTLE.u64(1), LITTLE.u64(0), infos[:1]]), limits="tensors=0")
reject("GG-LIMIT-KEY", "five-of-four", LITTLE.frame(0, 1), AT, LITTLE.pair("abcde", U8, 1), limits="key_len=4")
reject("GG-LIMIT-KEY", "65536-bytes", LITTLE.frame(0, 1), AT, LITTLE.u64(65536), bytes(8))
for name, length in {"key-all-ones": TOP, "key-2-to-the-62": 1 << 62, "key-sign-bit": 1 << 63}.items():
    reject("GG-LIMIT-KEY", name, LITTLE.frame(0, 1), AT, LITTLE.u64(length), bytes(6))
value = LITTLE.frame(0, 1), LITTLE.string("k"), LITTLE.u32(STRING)
reject("GG-LIMIT-STRING", "five-of-four", value, AT, LITTLE.string("abcde"), limits="string_len=4")
for name, length in {"all-ones": TOP, "2-to-the-62": 1 << 62, "sign-bit": 1 << 63, "2-to-the-30-and-one": (1 << 30) + 1}.items():
    reject("GG-LIMIT-STRING", name, value, AT, LITTLE.u64(length), bytes(3))
reject("GG-LIMIT-STRING", "in-an-array", elements, AT, LITTLE.string("abc"), limits="string_len=2")
reject("GG-LIMIT-STRING", "in-an-array-all-ones", elements, AT, LITTLE.u64(TOP))
reject("GG-LIMIT-ARRAY", "three-of-two", array(3, U8, 3), limits="array_len=2")
reject("GG-LIMIT-ARRAY", "one-of-none", array(1, U8, 1), limits="array_len=0")
reject("GG-LIMIT-NAME", "64-bytes", info(AT, LITTLE.info("n" * 64, [0])))
reject("GG-LIMIT-NAME", "all-ones", LITTLE.frame(1), AT, LITTLE.u64(TOP), bytes(32), still=("GG-LIMIT-NAME", 0))
reject("GG-LIMIT-NAME", "five-of-four", info(AT, LITTLE.info("abcde", [0])), limits="gguf_name_len=4")
for rank in (5, 8):
    reject("GG-LIMIT-RANK", f"{rank}-dims", info(LITTLE.string("w"), AT, LITTLE.u32(rank), [LITTLE.u64(1)] * rank, LITTLE.u32(24), LITTLE.u64(0), data=b"\1"))
reject("GG-LIMIT-RANK", "all-ones", info(LITTLE.string("w"), AT, LITTLE.u32(TOP >> 32), bytes(64)))
reject("GG-LIMIT-RANK", "three-of-two", info(LITTLE.string("w"), AT, LITTLE.info("", [1, 1, 1], 24)[1:], data=b"\1"), limits="gguf_rank=2")
