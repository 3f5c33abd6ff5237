"""What the descriptions of all formats share."""

from dataclasses import dataclass

OURS = "MIT OR Apache-2.0"


@dataclass(frozen=True)
class Row:
    """One file: where it goes, its bytes, and the verdict that is due to it.

    code is None for a file that is accepted; at is the absolute offset of the field that lies. limits names the
    limits to judge it with where they are not the defaults, as in "tensors=2". verdict is given for the files of sets:
    agrees or disagrees for an index, part for a shard; and for accepted files with something odd in their data: found.
    """

    path: str
    data: bytes
    code: str | None = None
    at: int | None = None
    origin: str = "made"
    licence: str = OURS
    limits: str | None = None
    verdict: str | None = None
    # What comes of it where all is tolerated that can be: the (code, offset, count) of each thing tolerated, or the
    # (code, offset) of what is refused all the same. None where that is what comes of it anyway.
    relaxed: tuple | None = None


# Every file of the corpus; the modules beside this one append to it.
ROWS = []
