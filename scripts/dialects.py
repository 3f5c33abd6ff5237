#!/usr/bin/env python3
"""Distils what other readers did with the cases into the table of src/audit/dialects and the tables of docs/dialects.md.

    python3 scripts/dialects.py           rewrite src/audit/dialects/table.rs and docs/dialects.md in place
    python3 scripts/dialects.py --check   write nothing; exit 1 where they would change

What readers did comes from tests/cases/*.json, which traits a case has from the test `traits_of_the_cases`, which this
script runs; what is known besides, with its source, stands in scripts/dialects_known.py. An entry is

  of a fault     what every case with it says, or `varies` where they differ;
  of a trait of  `refuses` where the reader refuses all cases that have it, and one in which no other trait explains it;
  accepted       `unknown` where others explain all of them, `varies` where several could explain one and none is known to,
  files          `differs` likewise, and else `accepts`.
"""

import base64
import json
import pathlib
import re
import subprocess
import sys

from dialects_known import BOOKS, KNOWN, NOTES, PREFERRED

ROOT = pathlib.Path(__file__).resolve().parent.parent
TABLE = ROOT / "src/audit/dialects/table.rs"
DOC = ROOT / "docs/dialects.md"
WORDS = {"a": "accepts", "d": "differs", "r": "refuses", "c": "crashes", "h": "hangs", "v": "varies", "?": "unknown"}


def traits_of_cases():
    command = ["cargo", "test", "--quiet", "--features", "cli", "--test", "dialects", "traits_of_the_cases", "--", "--nocapture"]
    text = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    rows = [line.split("\t")[1:] for line in text.splitlines() if line.startswith("traits\t")]
    assert rows, "the test printed no case"
    return {(book, name): [one for one in traits.split(";") if one] for book, name, traits in rows}


def said(case, source):
    """What a reader said of a case, in its own words."""
    if not source.startswith("reference"):
        return case["peers"][source]
    modes = case.get("reference_modes", "same")
    mode = source.removeprefix("reference").strip()
    return case["reference"] if modes == "same" else modes.get(mode, case["reference"])


def letter(text):
    return {"ok": "a", "err": "r", "crash": "c", "timeout": "h"}[re.match(r"\w+", text).group().lower()]


def counts(text):
    found = dict(word.split("=") for word in text.split()[1:] if "=" in word)
    return {key: found[key] for key in ("kv", "tensors", "data_off") if key in found}


def declared(case):
    """The counts that a GGUF header declares, in the byte order that its version shows."""
    head = bytes.fromhex(case["hex"][:48]) if "hex" in case else base64.b64decode(case["b64"])[:24]
    order = "big" if head[4:7] == b"\0\0\0" else "little"
    return {"tensors": str(int.from_bytes(head[8:16], order)), "kv": str(int.from_bytes(head[16:24], order))}


def outcome(case, source, fault):
    """A letter: what the reader did, and whether it saw something else than is declared or than most readers saw."""
    text = said(case, source)
    seen = counts(text)
    if letter(text) != "a" or not seen:
        return letter(text)
    if fault:
        expected = declared(case)
    else:
        others = [counts(other) for other in case["peers"].values() if letter(other) == "a"]
        votes = lambda key: [other[key] for other in others if key in other]
        expected = {key: max(set(votes(key)), key=votes(key).count) for key in seen}
    differs = any(seen[key] != expected[key] for key in seen if key in expected)
    return "d" if differs else "a"


def one_of(letters):
    """The one letter of several cases."""
    return letters.pop() if len(letters) == 1 else "v"


def of_faults(rows):
    cells = {}
    for traits, got, _ in rows:
        cells.setdefault(traits[0], set()).add(got)
    return {key: one_of(letters) for key, letters in cells.items()}


def blamed(rows, is_bad, preferred):
    """The traits that explain why some rows are bad: those that do for certain, and those of which one does."""
    having = {}
    for traits, got, _ in rows:
        for one in traits:
            having.setdefault(one, []).append(got)
    suspects = {one for one, all_got in having.items() if all(is_bad(got) for got in all_got)}
    bad = [(traits, [one for one in traits if one in suspects], name) for traits, got, name in rows if is_bad(got)]
    for traits, left, name in bad:
        assert left, f"nothing explains {name}: {traits}"
    certain = {left[0] for _, left, _ in bad if len(left) == 1} | (suspects & preferred)
    perhaps = {one for _, left, _ in bad if not certain & set(left) for one in left}
    return suspects, certain, perhaps


def of_accepted(rows, preferred):
    stops = lambda got: got in "rch"
    suspects, certain, perhaps = blamed(rows, stops, preferred)
    read = [row for row in rows if not stops(row[1])]
    _, differing, differing_perhaps = blamed(read, lambda got: got == "d", preferred)
    cells = {}
    for one in {one for traits, _, _ in rows for one in traits}:
        if one in certain:
            # Where another trait stops the reader too, the letter may be the other's.
            alone = {got for traits, got, _ in rows if one in traits and not (certain - {one}) & set(traits)}
            cells[one] = one_of(alone or {got for traits, got, _ in rows if one in traits})
        elif one in perhaps or one in differing_perhaps:
            cells[one] = "v"
        elif one in suspects:
            cells[one] = "?"
        else:
            cells[one] = "d" if one in differing else "a"
    return cells


def cells_of_book(book, cases, traits):
    """For each trait a letter a reader, and the cases that have it."""
    faults, accepted, sources = {}, {}, {}
    for place, reader in enumerate(book["readers"]):
        rows = {True: [], False: []}
        for case in cases:
            mine = traits[book["cases"], case["name"]]
            fault = case["strict_expected"] == "err"
            rows[fault].append((mine, outcome(case, reader["key"], fault), case["name"]))
            for one in mine if place == 0 else []:
                sources.setdefault(one, []).append(case["name"])
        preferred = {one for one, of in PREFERRED if of == reader["id"]}
        for into, cells in ((faults, of_faults(rows[True])), (accepted, of_accepted(rows[False], preferred))):
            for one, cell in cells.items():
                into.setdefault(one, ["?"] * len(book["readers"]))[place] = cell
    for part in (faults, accepted):
        for (key, of), (cell, _) in KNOWN.items():
            for place, reader in enumerate(book["readers"]):
                if reader["id"] == of and (key in part or (part is accepted and key not in faults)):
                    part.setdefault(key, ["?"] * len(book["readers"]))[place] = cell
    return faults, accepted, sources


def notes_of_book(book, table):
    notes = []
    for (key, of), (text, _) in sorted(NOTES.items()):
        for place, reader in enumerate(book["readers"]):
            if reader["id"] == of:
                assert key in table, f"a note on {key}, which no row has"
                notes.append((key, place, text))
    return notes


def rust_book(name, book, table):
    quote = lambda text: json.dumps(text, ensure_ascii=True)
    lines = [f"/// What readers of {book['format']} did.", f"pub(super) static {name}: Book = Book {{", "    readers: &["]
    for reader in book["readers"]:
        lines.append(f"        Reader {{ name: {quote(reader['name'])}, version: {quote(reader['version'])} }},")
    lines += ["    ],", "    rows: &["]
    lines += [f"        ({quote(key)}, {quote(''.join(cells))})," for key, cells in table.items()]
    lines += ["    ],", "    notes: &["]
    lines += [f"        ({quote(key)}, {place}, {quote(text)})," for key, place, text in notes_of_book(book, table)]
    return "\n".join([*lines, "    ],", "};"])


def doc_book(book, faults, accepted, sources):
    readers = book["readers"]
    out = [f"## {book['title']}", "", "| | reader | version |", "|---|---|---|"]
    out += [f"| {i + 1} | {reader['name']} | {reader['version'] or '-'} |" for i, reader in enumerate(readers)]
    for title, part in (("Faults: files that are refused here", faults), ("Traits of accepted files", accepted)):
        columns = " | ".join(str(i + 1) for i in range(len(readers)))
        out += ["", f"### {title}", "", f"| | {columns} | source |", "|---" * (len(readers) + 2) + "|"]
        for key, cells in part.items():
            files = sources.get(key, [])
            shown = ", ".join(f"`{name}`" for name in files[:3]) + (f" and {len(files) - 3} more" if len(files) > 3 else "")
            known = "" if all((key, reader["id"]) not in KNOWN for reader in readers) else "below"
            source = "; ".join(part for part in (shown, known) if part)
            out.append(f"| `{key}` | " + " | ".join(cell if cell != "a" else "" for cell in cells) + f" | {source} |")
    out += ["", "### What is known besides", ""]
    for reader in readers:
        for key in sorted(key for key, of in {**KNOWN, **NOTES} if of == reader["id"]):
            facts = [table[key, reader["id"]] for table in (KNOWN, NOTES) if (key, reader["id"]) in table]
            what = ": ".join(WORDS.get(what, what) for what, _ in facts)
            source = "; ".join(source for _, source in facts if source)
            out.append(f"- {reader['name']}, `{key}`: {what}. Source: {source}.")
    return "\n".join(out)


def generated():
    traits = traits_of_cases()
    rust, doc = [], []
    for name, book in BOOKS.items():
        cases = json.loads((ROOT / "tests/cases" / book["cases"]).read_text())
        faults, accepted, sources = cells_of_book(book, cases, traits)
        faults, accepted = dict(sorted(faults.items())), dict(sorted(accepted.items()))
        rust.append(rust_book(name, book, {**faults, **accepted}))
        doc.append(doc_book(book, faults, accepted, sources))
    table = "\n\n".join(["//! The table of readers; written by `python3 scripts/dialects.py` from what they did with the "
                         "cases.\n\nuse super::{Book, Reader};", *rust]) + "\n"
    formatted = subprocess.run(["rustfmt", "--edition", "2024", "--config-path", str(ROOT)], input=table, check=True,
                               capture_output=True, text=True)
    return formatted.stdout, "\n\n".join(doc)


def main():
    table, doc = generated()
    before, rest = DOC.read_text().split("<!-- tables -->\n", 1)
    after = rest.split("<!-- end -->", 1)[1]
    text = f"{before}<!-- tables -->\n{doc}\n<!-- end -->{after}"
    stale = [path.relative_to(ROOT) for path, new in ((TABLE, table), (DOC, text)) if path.read_text() != new]
    if sys.argv[1:] == ["--check"]:
        if stale:
            sys.exit(f"{', '.join(map(str, stale))}: not up to date: run python3 scripts/dialects.py")
        print(f"ok  {table.count(chr(10) + '        (')} rows and notes as the cases have them")
    elif stale:
        TABLE.write_text(table)
        DOC.write_text(text)


if __name__ == "__main__":
    main()
