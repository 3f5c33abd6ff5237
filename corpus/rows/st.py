"""safetensors: how a file is described.

A header is written as text with the mark ¦ before the byte at which the verdict must point; the mark itself is not
part of the file. Where the fault lies outside of the header, the offset is given as a number.
"""

import struct

from common import ROWS, Row

MARK = "¦".encode()


def frame(header, data, n):
    """The file, and the absolute offset of the mark."""
    text = header if isinstance(header, bytes) else header.encode()
    assert text.count(MARK) <= 1, text
    place = text.find(MARK)
    text = text.replace(MARK, b"")
    length = len(text) if n is None else n
    return struct.pack("<Q", length) + text + data, None if place < 0 else 8 + place


def accept(name, header, data=b"", n=None):
    whole, at = frame(header, data, n)
    assert at is None
    ROWS.append(Row(f"accept/{name}.safetensors", whole))


def reject(code, name, header, data=b"", n=None, at=None, limits=None):
    whole, marked = frame(header, data, n)
    assert (at is None) != (marked is None), name
    raw(code, name, whole, marked if at is None else at, limits)


def raw(code, name, whole, at, limits=None):
    ROWS.append(Row(f"reject/{code}/{name}.safetensors", whole, code, at, limits=limits))


def entry(dtype, shape, begin, end):
    return f'{{"dtype":"{dtype}","shape":{shape},"data_offsets":[{begin},{end}]}}'


def tensor(name, dtype, shape, begin, end):
    return f'"{name}":{entry(dtype, shape, begin, end)}'


def with_shape(shape, offsets="[0,2]", dtype="U8"):
    return f'{{"w":{{"dtype":"{dtype}","shape":{shape},"data_offsets":{offsets}}}}}'


def placed(name, begin, end, marked=False):
    mark = "¦" if marked else ""
    return f'"{name}":{{"dtype":"U8","shape":[{end - begin}],"data_offsets":{mark}[{begin},{end}]}}'


BYTE = tensor("w", "U8", "[1]", 0, 1)
EMPTY = entry("U8", "[0]", 0, 0)
# A hundred metadata keys in no order.
HUNDRED = ",".join(f'"k{i * 37 % 100:02}":"v"' for i in range(100))
