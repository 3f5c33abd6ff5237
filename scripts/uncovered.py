#!/usr/bin/env python3
"""From a tracefile in lcov's form: the lines of matching files that were never run, and how many were.

Usage: uncovered.py PATTERN BUT_NOT < TRACEFILE, from the project's folder. Tests at the end of a file are no part of it.
"""

import collections
import pathlib
import re
import sys


def main() -> None:
    wanted, unwanted = (re.compile(pattern) for pattern in sys.argv[1:])
    root = pathlib.Path.cwd()
    lines: dict[str, dict[int, int]] = collections.defaultdict(dict)
    path = ""
    for row in sys.stdin:
        tag, _, rest = row.strip().partition(":")
        if tag == "SF":
            path = str(pathlib.Path(rest).relative_to(root)) if pathlib.Path(rest).is_absolute() else rest
        elif tag == "DA" and wanted.search(path) and not unwanted.search(path):
            number, count = (int(field) for field in rest.split(",")[:2])
            lines[path][number] = max(count, lines[path].get(number, 0))
    run = there = 0
    for path in sorted(lines):
        source = pathlib.Path(path).read_text(encoding="utf-8").splitlines()
        tests = next((at for at, text in enumerate(source, 1) if text.strip() == "#[cfg(test)]"), len(source) + 1)
        own = {number: count for number, count in lines[path].items() if number < tests}
        missed = sorted(number for number, count in own.items() if count == 0)
        run, there = run + len(own) - len(missed), there + len(own)
        if missed:
            print(f"{path}: {len(own) - len(missed)} of {len(own)}")
        for number in missed:
            print(f"{number:5} {source[number - 1]}")
    print(f"{run} of {there} lines run, {100 * run / max(there, 1):.2f} %")


if __name__ == "__main__":
    main()
