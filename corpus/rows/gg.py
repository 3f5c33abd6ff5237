"""GGUF: how a file is described.

A file is given as parts: bytes, AT where the verdict must point (once at most, in front of the byte), and lists of parts.
"""

import struct

from common import ROWS, Row

U8, I8, U16, I16, U32, I32, F32, BOOL, STRING, ARRAY, U64, I64, F64 = range(13)
FORMS = dict(zip(range(13), "B b H h I i f B - - Q q d".split()))


class At:
    """The mark."""


AT = At()


def flat(parts):
    for part in parts:
        if isinstance(part, (list, tuple)):
            yield from flat(part)
        else:
            yield part


def joined(*parts):
    """The bytes, and the offset of the mark."""
    data, at = b"", None
    for part in flat(parts):
        if isinstance(part, At):
            assert at is None, "two marks"
            at = len(data)
        else:
            data += part
    return data, at


class Order:
    """Numbers, and what is made of them, in one byte order."""

    def __init__(self, mark):
        self.mark = mark

    def number(self, kind, value):
        return struct.pack(self.mark + FORMS[kind], value)

    def u32(self, value):
        return struct.pack(self.mark + "I", value)

    def u64(self, value):
        return struct.pack(self.mark + "Q", value)

    def string(self, text):
        text = text.encode() if isinstance(text, str) else text
        return [self.u64(len(text)), text]

    def frame(self, tensors=0, pairs=0, version=3):
        return [b"GGUF", self.u32(version), self.u64(tensors), self.u64(pairs)]

    def pair(self, key, kind, value):
        """A number, a string, or whatever parts the value is made of."""
        if isinstance(value, list):
            parts = value
        elif kind == STRING:
            parts = self.string(value)
        else:
            parts = [self.number(kind, value)]
        return [self.string(key), self.u32(kind), parts]

    def array(self, key, kind, values):
        elements = [self.string(value) if kind == STRING else self.number(kind, value) for value in values]
        return self.pair(key, ARRAY, [self.u32(kind), self.u64(len(values)), elements])

    def info(self, name, dims, kind=0, offset=0):
        return [self.string(name), self.u32(len(dims)), [self.u64(dim) for dim in dims], self.u32(kind), self.u64(offset)]


LITTLE, BIG = Order("<"), Order(">")


def padded(parts, alignment=32):
    """The parts, and zeros up to the alignment."""
    data, _ = joined(parts)
    return [parts, bytes(-len(data) % alignment)]


def model(*infos, data=b"", pairs=(), alignment=32, order=LITTLE):
    """A file of these tensor infos; data is what the data section holds, padding and all."""
    parts = [order.frame(len(infos), len(pairs)), list(pairs), list(infos)]
    return [padded(parts, alignment), data]


def accept(name, *parts):
    whole, at = joined(*parts)
    assert at is None, name
    ROWS.append(Row(f"accept/{name}.gguf", whole))


# What can be tolerated: GG-LIMIT-NAME up to 1,000 bytes, GG-ARRAY-NESTED up to 8 levels.
TOLERABLE = {"GG-ARRAY-NESTED", "GG-STRING-UTF8", "GG-LIMIT-NAME", "GG-TYPE-UNKNOWN", "GG-TYPE-REMOVED", "GG-DATA-TRAILING"}


def reject(code, name, *parts, limits=None, count=1, still=None):
    """What is refused. Where that can be tolerated, count says in how many places, and still what is refused then: a code,
    and how many bytes behind the mark."""
    whole, at = joined(*parts)
    assert at is not None, name
    relaxed = None
    if code in TOLERABLE and limits is None:
        relaxed = (still[0], at + still[1]) if still else ((code, at, count),)
    ROWS.append(Row(f"reject/{code}/{name}.gguf", whole, code, at, limits=limits, relaxed=relaxed))
