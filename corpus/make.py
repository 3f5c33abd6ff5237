#!/usr/bin/env python3
"""Writes every file of the corpus and MANIFEST.tsv from the explicit descriptions in rows/.

    python3 corpus/make.py           write corpus/accept, corpus/deep, corpus/reject, corpus/sets, corpus/MANIFEST.tsv
                                     and corpus/RELAXED.tsv
    python3 corpus/make.py --check   write nothing; exit 1 where anything differs

The modules of rows/ append to common.ROWS. The verdict, code and offset of a row are worked out in the description itself
and never taken from the reader's output. Only the standard library is used.
"""

import hashlib
import importlib
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
COLUMNS = ["path", "sha256", "verdict", "code", "offset", "origin", "licence", "limits"]


def load_rows():
    sys.path.insert(0, str(HERE / "rows"))
    sys.dont_write_bytecode = True
    for module in sorted((HERE / "rows").glob("*.py")):
        importlib.import_module(module.stem)
    rows = sorted(importlib.import_module("common").ROWS, key=lambda row: row.path)
    paths = [row.path for row in rows]
    twice = {path for path in paths if paths.count(path) > 1}
    if twice:
        sys.exit(f"described twice: {sorted(twice)}")
    return rows


def manifest(rows):
    lines = ["\t".join(COLUMNS)]
    for row in rows:
        digest = hashlib.sha256(row.data).hexdigest()
        verdict = row.verdict or ("rejected" if row.code else "accepted")
        offset = "-" if row.at is None else str(row.at)
        lines.append(
            "\t".join([row.path, digest, verdict, row.code or "-", offset, row.origin, row.licence, row.limits or "-"])
        )
    return "\n".join(lines) + "\n"


def relaxed(rows):
    """Where tolerating all that can be makes a difference."""
    lines = ["path\tverdict\tfound"]
    for row in rows:
        if row.relaxed:
            accepted = isinstance(row.relaxed[0], tuple)
            found = row.relaxed if accepted else (row.relaxed,)
            found = " ".join(":".join(map(str, each)) for each in found)
            lines.append("\t".join([row.path, "accepted" if accepted else "rejected", found]))
    return "\n".join(lines) + "\n"


def files_there():
    for folder in ("accept", "deep", "reject", "sets"):
        for path in sorted((HERE / folder).rglob("*")):
            if path.is_file():
                yield path


def main():
    check = sys.argv[1:] == ["--check"]
    rows = load_rows()
    wanted = {HERE / row.path: row.data for row in rows}
    wanted[HERE / "MANIFEST.tsv"] = manifest(rows).encode()
    wanted[HERE / "RELAXED.tsv"] = relaxed(rows).encode()
    stale = [path for path in files_there() if path not in wanted]
    changed = [path for path, data in wanted.items() if not path.exists() or path.read_bytes() != data]
    if check:
        for path in stale + changed:
            print(f"differs: {path.relative_to(HERE)}")
        sys.exit(1 if stale or changed else 0)
    for path in stale:
        path.unlink()
    for path in changed:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(wanted[path])
    total = sum(len(row.data) for row in rows)
    print(f"{len(rows)} files, {total} bytes; {len(changed)} written, {len(stale)} removed")


if __name__ == "__main__":
    main()
