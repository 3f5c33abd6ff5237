#!/usr/bin/env python3
"""Counts what other readers did with the cases, for the tables of docs/comparison.md and README.md.

    python3 scripts/comparison.py           rewrite the tables in place
    python3 scripts/comparison.py --check   write nothing; exit 1 where a table would change

Of each reader: how many files that are refused here it reads, with how many it crashes or hangs, and how many files that
are accepted here it does not read. What readers did comes from tests/cases/*.json, who they are from
scripts/dialects_known.py. That this crate's verdicts are those of the cases is what the tests cases_safetensors and
cases_gguf say.
"""

import json
import pathlib
import sys

from dialects import letter, said
from dialects_known import BOOKS

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Whom one would use instead; the others stand in docs/comparison.md.
FIRST = {"rust", "python", "audit", "data", "py", "candle", "modelvet"}
HEAD = "| {} | version | reads of the {} refused here | crashes or hangs | refuses of the {} accepted here |"


def counted(reader, refused, accepted):
    of_refused = [letter(said(case, reader["key"])) for case in refused]
    of_accepted = [letter(said(case, reader["key"])) for case in accepted]
    trouble = sum(one in "ch" for one in of_refused + of_accepted)
    return of_refused.count("a"), trouble, of_accepted.count("r")


def table(book, chosen):
    cases = json.loads((ROOT / "tests/cases" / book["cases"]).read_text())
    refused = [case for case in cases if case["strict_expected"] == "err"]
    accepted = [case for case in cases if case["strict_expected"] == "ok"]
    assert len(refused) + len(accepted) == len(cases), "a case without a verdict"
    lines = [HEAD.format(book["title"], len(refused), len(accepted)), "|---|---|---|---|---|"]
    lines.append("| **tensorgate** | 0.1.0 | 0 | 0 | 0 |")
    rows = [(counted(reader, refused, accepted), reader) for reader in book["readers"] if chosen(reader)]
    for (reads, trouble, refuses), reader in sorted(rows, key=lambda row: row[0]):
        lines.append(f"| {reader['name']} | {reader['version'] or '-'} | {reads} | {trouble} | {refuses} |")
    return "\n".join(lines)


def tables(chosen):
    return "\n\n".join(table(book, chosen) for book in BOOKS.values())


def main():
    pages = {"docs/comparison.md": lambda reader: True, "README.md": lambda reader: reader["id"] in FIRST}
    stale = []
    for page, chosen in pages.items():
        text = (ROOT / page).read_text()
        before, rest = text.split("<!-- readers -->\n", 1)
        after = rest.split("<!-- end -->", 1)[1]
        new = f"{before}<!-- readers -->\n{tables(chosen)}\n<!-- end -->{after}"
        if new != text:
            stale.append(page)
            if sys.argv[1:] != ["--check"]:
                (ROOT / page).write_text(new)
    if sys.argv[1:] == ["--check"] and stale:
        sys.exit(f"{', '.join(stale)}: not up to date: run python3 scripts/comparison.py")
    print(f"ok  {sum(len(book['readers']) for book in BOOKS.values())} readers as the cases have them")


if __name__ == "__main__":
    main()
