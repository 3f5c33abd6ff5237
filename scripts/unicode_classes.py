#!/usr/bin/env python3
"""Writes the character classes of the pre-tokenizer, src/tokenizer/classes/table.rs.

GPT-2's pattern asks of a character whether it is a letter (general category L), a number (N) or white space
(White_Space). The answer depends on the version of Unicode. tiktoken, which decides here, answers by the tables of the
Rust crate regex-syntax (0.8.11 in tiktoken 0.14.0), which are those of Unicode 16.0.0; so the tables are made from the
same crate's source.

    scripts/unicode_classes.py [DIRECTORY OF regex-syntax]     write the table
    scripts/unicode_classes.py --check [DIRECTORY]             say whether it is up to date
    scripts/unicode_classes.py --tiktoken [DIRECTORY]          hold it against tiktoken, character by character

Without a directory the newest regex-syntax in cargo's registry is taken.
"""

import os
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TARGET = ROOT / "src/tokenizer/classes/table.rs"
VERSION = "16.0.0"
OTHER, LETTER, NUMBER, SPACE = range(4)
PAIR = re.compile(r"\('((?:\\.[^']*|[^'\\]))', '((?:\\.[^']*|[^'\\]))'\)")


def registry():
    home = pathlib.Path(os.environ.get("CARGO_HOME", pathlib.Path.home() / ".cargo"))
    found = sorted(home.glob("registry/src/*/regex-syntax-0.8.*"), key=lambda p: int(p.name.rsplit(".", 1)[1]))
    if not found:
        sys.exit("no regex-syntax 0.8 in cargo's registry: give its directory")
    return found[-1]


def character(text):
    if not text.startswith("\\"):
        return ord(text)
    if text.startswith("\\u{"):
        return int(text[3:-1], 16)
    return ord({"t": "\t", "n": "\n", "r": "\r", "0": "\0", "\\": "\\", "'": "'"}[text[1:]])


def ranges(source, table):
    body = source.split(f"pub const {table}: ", 1)[1].split("];", 1)[0].split("&[", 1)[1]
    return [(character(a), character(b)) for a, b in PAIR.findall(body)]


def classes(crate):
    tables = crate / "src/unicode_tables"
    category = (tables / "general_category.rs").read_text(encoding="utf-8")
    properties = (tables / "property_bool.rs").read_text(encoding="utf-8")
    for source in (category, properties):
        found = re.search(r"Unicode version: ([0-9.]+[0-9])", source).group(1)
        if found != VERSION:
            sys.exit(f"{crate}: Unicode {found}, and {VERSION} is wanted")
    kinds = bytearray(0x110000)
    for source, table, kind in [
        (category, "LETTER", LETTER),
        (category, "NUMBER", NUMBER),
        (properties, "WHITE_SPACE", SPACE),
    ]:
        spans = ranges(source, table)
        assert spans, table
        for first, last in spans:
            assert not any(kinds[first : last + 1]), (table, first)
            kinds[first : last + 1] = bytes([kind]) * (last + 1 - first)
    return kinds


def table(kinds):
    """Blocks of 64 characters, which is what the last byte of a character chooses from; equal blocks are kept once."""
    blocks, index = [], []
    for start in range(0, 0x110000, 64):
        word = sum(kind << (2 * at) for at, kind in enumerate(kinds[start : start + 64]))
        if word not in blocks:
            blocks.append(word)
        index.append(blocks.index(word))
    while index[-1] == 0 and blocks[0] == 0 or blocks[index[-1]] == 0:
        index.pop()
    assert len(blocks) < 65536
    lines = [
        f"//! Character classes of Unicode {VERSION}; made by `scripts/unicode_classes.py`, not by hand.",
        "",
        "/// Which block the characters from 64 times the place on are in; those behind the end are in none.",
        "#[rustfmt::skip]",
        f"pub(super) static INDEX: [u16; {len(index)}] = [",
    ]
    for start in range(0, len(index), 24):
        lines.append("    " + ", ".join(str(i) for i in index[start : start + 24]) + ",")
    lines += [
        "];",
        "",
        "/// Two bits a character, the first lowest: 0 none of these, 1 a letter, 2 a number, 3 white space.",
        "#[rustfmt::skip]",
        f"pub(super) static BLOCKS: [u128; {len(blocks)}] = [",
    ]
    for word in blocks:
        digits = f"{word:032x}"
        lines.append("    0x" + "_".join(digits[i : i + 4] for i in range(0, 32, 4)) + ",")
    lines += ["];", ""]
    return "\n".join(lines)


def against_tiktoken(kinds):
    import tiktoken

    ranks = {bytes([b]): b for b in range(256)}
    wrong = 0
    for kind, pattern in [(LETTER, r"\p{L}"), (NUMBER, r"\p{N}"), (SPACE, r"\s")]:
        # What does not match is left out, so that a character's tokens say whether it matched.
        probe = tiktoken.Encoding("probe", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
        for code in range(0x110000):
            if 0xD800 <= code < 0xE000:
                continue
            matched = bool(probe.encode_ordinary(chr(code)))
            if matched != (kinds[code] == kind):
                wrong += 1
                print(f"U+{code:04X} {pattern}: tiktoken says {matched}")
    print(f"tiktoken {tiktoken.__version__}: {wrong} characters differ")
    sys.exit(1 if wrong else 0)


def main():
    arguments = sys.argv[1:]
    mode = arguments.pop(0) if arguments and arguments[0].startswith("--") else ""
    if mode not in ("", "--check", "--tiktoken") or len(arguments) > 1:
        sys.exit(__doc__)
    kinds = classes(pathlib.Path(arguments[0]) if arguments else registry())
    if mode == "--tiktoken":
        against_tiktoken(kinds)
    text = table(kinds)
    if mode == "--check":
        if TARGET.read_text(encoding="utf-8") != text:
            sys.exit(f"{TARGET.relative_to(ROOT)} is not what regex-syntax's tables give")
        return
    TARGET.write_text(text, encoding="utf-8")


main()
