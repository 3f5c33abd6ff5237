"""Sharded indexes: how a file and a set are described.

An index is written as text with the mark ¦ before the byte at which the verdict must point, as headers are in st.py. A
set is an index with its shards in a folder of its own; the mark is in the index.
"""

import struct

from common import ROWS, Row

MARK = "¦".encode()
ENDING = ".safetensors.index.json"


def marked(text):
    """The text, and the offset of its mark."""
    whole = text if isinstance(text, bytes) else text.encode()
    assert whole.count(MARK) <= 1, whole
    place = whole.find(MARK)
    return whole.replace(MARK, b""), None if place < 0 else place


def accept(name, text):
    whole, at = marked(text)
    assert at is None, name
    ROWS.append(Row(f"accept/{name}{ENDING}", whole))


def reject(code, name, text, limits=None):
    whole, at = marked(text)
    assert at is not None, name
    ROWS.append(Row(f"reject/{code}/{name}{ENDING}", whole, code, at, limits=limits))


def weights(*pairs, begin=""):
    """weight_map's member; a name or shard brings its mark in front of its quote."""
    quoted = [f"{quote(name)}:{quote(shard)}" for name, shard in pairs]
    return f'"weight_map":{begin}{{{",".join(quoted)}}}'


def quote(text):
    return f'¦"{text[1:]}"' if text.startswith("¦") else f'"{text}"'


def shard(*tensors):
    """A shard of one-byte tensors of these names."""
    entry = '"{}":{{"dtype":"U8","shape":[1],"data_offsets":[{},{}]}}'
    header = "{" + ",".join(entry.format(name, at, at + 1) for at, name in enumerate(tensors)) + "}"
    return struct.pack("<Q", len(header)) + header.encode() + bytes(len(tensors))


def folder(code, name, text, shards):
    """A set: code is None where index and shards agree. The mark is where the only finding points."""
    whole, at = marked(text)
    assert (code is None) == (at is None), name
    home = f"sets/{code or 'agree'}/{name}"
    ROWS.append(Row(f"{home}/model{ENDING}", whole, code, at, verdict="disagrees" if code else "agrees"))
    for file_name, data in shards.items():
        ROWS.append(Row(f"{home}/{file_name}", data, verdict="part"))
