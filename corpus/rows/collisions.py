"""Names and keys that all belong in one place of the reader's quick hash table, so that it gives up on that hash.

The table has two places a name (metadata keys: six for five), a name's place is the upper half of its hash scaled to their
number, and a table of n names gives up after 32 n + 1024 looks. A hundred names of one place take 5,050.
"""

import itertools
import struct

from gg import LITTLE, U8, model
import gg
import st

COUNT = 100
WORD = (1 << 64) - 1
MULTIPLIER = 0x9E3779B97F4A7C15


def mix(state, word):
    product = (state ^ word) * MULTIPLIER & WORD
    return product ^ product >> 29


def digest(name):
    """The quick hash of a name of eight bytes."""
    return mix(mix(mix(MULTIPLIER, struct.unpack("<Q", name.encode())[0]), 0), 8)


def colliding(places):
    """Names of eight letters that belong in the first of so many places, in no order."""
    found = (name for name in map("{:08x}".format, itertools.count()) if (digest(name) >> 32) * places >> 32 == 0)
    names = list(itertools.islice(found, COUNT))
    return names[1::2] + names[::2]


def twice(names):
    """The last name is the third again, with the mark before it."""
    return names[:-1] + ["¦" + names[2]]


def header(names):
    return "{" + ",".join(f"{quote(name)}:{st.EMPTY}" for name in names) + "}"


def metadata(keys):
    return '{"__metadata__":{' + ",".join(f'{quote(key)}:""' for key in keys) + "}}"


def quote(name):
    return f'¦"{name[1:]}"' if name.startswith("¦") else f'"{name}"'


NAMES = colliding(2 * COUNT)
KEYS = colliding(COUNT + COUNT // 5 + 2)
st.accept("names-that-collide", header(NAMES))
st.reject("ST-DUP-NAME", "among-names-that-collide", header(twice(NAMES)))
st.accept("metadata-keys-that-collide", metadata(KEYS))
st.reject("ST-DUP-META-KEY", "among-keys-that-collide", metadata(twice(KEYS)))


def pairs(keys):
    """A GGUF file of these keys; a mark stands before a key's bytes."""
    marked = [[LITTLE.u64(8), gg.AT, key[1:].encode(), LITTLE.u32(U8), b"\0"] for key in keys if key.startswith("¦")]
    plain = [LITTLE.pair(key, U8, 0) for key in keys if not key.startswith("¦")]
    return [LITTLE.frame(0, len(keys)), plain, marked]


def infos(names):
    plain = [LITTLE.info(name, [0]) for name in names if not name.startswith("¦")]
    last = LITTLE.info(names[-1][1:], [0])
    marked = [[last[0][0], gg.AT, last[0][1], last[1:]]] if names[-1].startswith("¦") else []
    return model(*plain, *marked)


gg.accept("gguf-keys-that-collide", pairs(NAMES))
gg.reject("GG-KEY-DUP", "among-keys-that-collide", pairs(twice(NAMES)))
gg.accept("gguf-names-that-collide", infos(NAMES))
gg.reject("GG-NAME-DUP", "among-names-that-collide", infos(twice(NAMES)))
