#!/usr/bin/env python3
"""Fills in the generated parts of docs/rules.md: the smallest file of each rule, and which readers accept such files.

    python3 scripts/rules.py           rewrite docs/rules.md in place
    python3 scripts/rules.py --check   write nothing; exit 1 where it would change

A file's part stands between `<!-- file PATH -->` and `<!-- end -->`, the readers' between `<!-- readers -->` and
`<!-- end -->`. What other readers say comes from tests/cases/*.json; which rule refuses each case comes from the test
`codes_of_the_cases`, which this script runs.
"""

import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
RULES = ROOT / "docs/rules.md"
CASES = {
    "safetensors.json": "the reference (safetensors 0.8.0, Rust)",
    "gguf.json": "the reference (ggml 0.25.3, metadata only)",
}
SHOWN = 160


def codes_of_cases():
    command = ["cargo", "test", "--quiet", "--features", "cli", "--test", "rules", "codes_of_the_cases", "--", "--nocapture"]
    text = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    rows = [line.split("\t")[1:] for line in text.splitlines() if line.startswith("case\t")]
    assert rows, "the test printed no case"
    return dict(rows)


def readers_by_code():
    """For each code: how many cases there are, and how many of them each reader accepts, never answers or crashes on."""
    codes = codes_of_cases()
    by_code = {}
    for name, reference in CASES.items():
        for case in json.loads((ROOT / "tests/cases" / name).read_text()):
            code = codes[case["name"]]
            count, accepts = by_code.setdefault(code, [0, {}])
            by_code[code][0] = count + 1
            says = {reference: case["reference"], **case.get("peers", {})}
            for reader, verdict in says.items():
                tally = accepts.setdefault(reader, [0, 0, 0])
                outcome = re.match(r"\w+", verdict).group().lower()
                if outcome != "err":
                    tally[["ok", "timeout", "crash"].index(outcome)] += 1
    return by_code


def readers(code, by_code):
    if code not in by_code:
        return "None of the cases that were run through other readers has this fault."
    count, accepts = by_code[code]
    lines = [f"Of {count} such cases:" if count > 1 else "Of one such case:"]
    for reader, (accepted, silent, crashed) in sorted(accepts.items(), key=lambda item: (-item[1][0], item[0].lower())):
        if accepted or silent or crashed:
            never = f", gives no answer in time to {silent}" if silent else ""
            crashes = f", crashes on {crashed}" if crashed else ""
            lines.append(f"- {reader} accepts {accepted}{never}{crashes}")
    refuse = [reader for reader, tally in accepts.items() if tally == [0, 0, 0]]
    if refuse:
        others = "every reader" if len(refuse) == len(accepts) else ", ".join(sorted(refuse, key=str.lower))
        lines.append(f"- refused by {others}")
    return "\n".join([lines[0], "", *lines[1:]])


def escaped(data):
    return "".join(chr(byte) if 32 <= byte < 127 else f"\\x{byte:02x}" for byte in data)


def counted(length):
    return "1 byte" if length == 1 else f"{length} bytes"


def hexdump(data, at):
    """The rows up to the byte at `at` and one behind it, of a long file the last eight."""
    lines = []
    last = min(len(data), at + 32)
    first = max(0, (at - 96) // 16 * 16)
    if first:
        lines.append("...")
    for start in range(first, last, 16):
        part = data[start : start + 16]
        shown = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in part)
        lines.append(f"{start:04x}  {part.hex(' '):<47}  {shown}")
        if start <= at < start + len(part):
            lines.append(" " * (6 + 3 * (at - start)) + f"^^ byte {at}")
    if at >= len(data):
        lines.append(f"at byte {at}, the end" if data else f"(no byte at all)\nat byte {at}")
    elif last < len(data):
        lines.append(f"... {counted(len(data))} in all")
    return lines


def index_picture(data, at):
    """An index's text with a caret, a long one around it."""
    begin = max(0, at - SHOWN)
    left, right = "..." if begin else "", "..." if at + SHOWN // 2 < len(data) else ""
    before = left + escaped(data[begin:at])
    return [before + escaped(data[at : at + SHOWN // 2]) + right, " " * len(before) + f"^ byte {at}"]


def picture(path, at):
    """The file as text, with a caret under the byte to which the verdict points."""
    data = path.read_bytes()
    if path.suffix == ".json":
        return index_picture(data, at)
    if path.suffix != ".safetensors" or at < 8 or len(data) < 8:
        return hexdump(data, at)
    length = int.from_bytes(data[:8], "little")
    header, rest = data[8 : 8 + length], data[8 + length :]
    begin = max(0, at - 8 - SHOWN)
    before = escaped(header[begin : at - 8])
    after = escaped(header[at - 8 : at - 8 + SHOWN // 2])
    left = "..." if begin else ""
    right = "..." if at - 8 + SHOWN // 2 < len(header) else ""
    lines = [f"{counted(length)} of header:", left + before + after + right]
    caret = " " * len(left + before) + f"^ byte {at}"
    if at < 8 + length or not rest:
        lines.append(caret)
    lines.append(f"{counted(len(rest))} of data: {escaped(rest[:16])}" if rest else "no data")
    if at >= 8 + length and rest:
        lines.append(f"at byte {at}")
    return lines


def offsets():
    lines = (ROOT / "corpus/MANIFEST.tsv").read_text().splitlines()[1:]
    return {row[0]: int(row[4]) for row in (line.split("\t") for line in lines) if row[4] != "-"}


def rewritten(text):
    by_code, places = readers_by_code(), offsets()

    def section(match):
        code = match.group(1)

        def file_part(part):
            lines = picture(ROOT / part.group(1), places[part.group(1).removeprefix("corpus/")])
            return f"<!-- file {part.group(1)} -->\n```text\n" + "\n".join(lines) + "\n```\n<!-- end -->"

        body = re.sub(r"<!-- file (\S+) -->\n.*?<!-- end -->", file_part, match.group(0), flags=re.S)
        block = f"<!-- readers -->\n{readers(code, by_code)}\n<!-- end -->"
        return re.sub(r"<!-- readers -->\n.*?<!-- end -->", lambda _: block, body, flags=re.S)

    return re.sub(r"^## ([A-Z0-9-]+)\n.*?(?=^##? |\Z)", section, text, flags=re.S | re.M)


def main():
    text = RULES.read_text()
    new = rewritten(text)
    if sys.argv[1:] == ["--check"]:
        if new != text:
            sys.exit("docs/rules.md is not up to date: run python3 scripts/rules.py")
    elif new != text:
        RULES.write_text(new)


if __name__ == "__main__":
    main()
