#!/usr/bin/env python3
"""The pictures of the README, made of what the program prints.

    python3 scripts/pictures.py PROGRAM           rewrite docs/check.svg and, where there is Chromium, docs/inspect.png
    python3 scripts/pictures.py PROGRAM --check   write nothing; exit 1 where docs/check.svg would change

PROGRAM is a built `tensorgate`. The first picture is the coloured text of `check` as SVG, which is the same on every
machine; the second is the page of `inspect --html --deep` in a headless browser ($CHROMIUM, or chromium), made small by the
Python package pillow.
"""

import html
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap

ROOT = pathlib.Path(__file__).resolve().parent.parent
TEXT, PAGE = ROOT / "docs/check.svg", ROOT / "docs/inspect.png"
MODEL, LIAR, TWICE = ("models/austen/model.safetensors", "corpus/reject/ST-OVERLAP/partial.safetensors",
                      "corpus/reject/ST-DUP-NAME/escape-second.safetensors")
COMMANDS = [["check", MODEL, LIAR], ["check", "--readers", TWICE]]
COLUMNS, ADVANCE, LINE, MARGIN, SIZE = 122, 7.8, 18, 16, 13
# What the program's styles are on a dark ground.
STYLES = {"1": "font-weight:bold", "2": "opacity:.65", "31": "fill:#ff7b72", "32": "fill:#7ee787", "33": "fill:#e3b341"}
LARGEST = 80_000


def printed(program, command):
    ran = subprocess.run([program, *command], cwd=ROOT, env={**os.environ, "CLICOLOR_FORCE": "1"}, capture_output=True, text=True)
    if ran.returncode not in (0, 1) or ran.stderr:
        sys.exit(f"{command}: {ran.stderr}")
    return ran.stdout


def pieces(line):
    """The pieces of a line of text with the styles in force, which may go on from the line before."""
    styles, found = [], []
    for part in re.split(r"(\x1b\[\d*m)", line):
        if part.startswith("\x1b"):
            code = part[2:-1]
            styles = [] if code in ("", "0") else [*styles, STYLES[code]]
        elif part:
            found.append((part, ";".join(styles)))
    return found


def drawing(program):
    rows = []
    for command in COMMANDS:
        rows.append([("$ tensorgate " + " ".join(command), "font-weight:bold")])
        rows += [pieces(line) for line in printed(program, command).splitlines()]
        rows.append([])
    rows.pop()
    longest = max(sum(len(text) for text, _ in row) for row in rows)
    if longest > COLUMNS:
        sys.exit(f"a line of {longest} columns: the picture has {COLUMNS}")
    width, height = round(2 * MARGIN + longest * ADVANCE), 2 * MARGIN + len(rows) * LINE
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}">',
           f'<title>{html.escape("tensorgate " + " ".join(COMMANDS[0]))}</title>',
           f'<rect width="{width}" height="{height}" rx="8" fill="#0d1117"/>',
           f'<g font-family="ui-monospace,Menlo,Consolas,\'DejaVu Sans Mono\',monospace" font-size="{SIZE}" fill="#e6edf3">']
    for place, row in enumerate(rows):
        at, y = 0, MARGIN + LINE * place + SIZE
        spans = []
        for text, style in row:
            # Each piece has its place and its length, so that it fits whatever the font is.
            x, length = MARGIN + at * ADVANCE, len(text) * ADVANCE
            shown = html.escape(text, quote=False)
            style = f' style="{style}"' if style else ""
            spans.append(f'<tspan x="{x:.1f}" textLength="{length:.1f}"{style}>{shown}</tspan>')
            at += len(text)
        if spans:
            out.append(f'<text y="{y}" xml:space="preserve">{"".join(spans)}</text>')
    return "\n".join([*out, "</g>", "</svg>", ""])


def photograph(program):
    browser = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        return print("skipped: no Chromium, so that docs/inspect.png stays as it is")
    with tempfile.TemporaryDirectory() as folder:
        page, picture = pathlib.Path(folder) / "page.html", pathlib.Path(folder) / "page.png"
        # Several types are more to look at than one.
        for command in (["quantize", ROOT / MODEL, "austen.gguf", "--type", "q4_k_m"], ["inspect", "austen.gguf", "--html", page, "--deep"]):
            subprocess.run([program, *command], cwd=folder, check=True, capture_output=True)
        subprocess.run([browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--window-size=900,1290",
                        "--virtual-time-budget=5000", f"--screenshot={picture}", page.as_uri()],
                       check=True, capture_output=True, timeout=120)
        # 64 colours are enough for it, and take a third of the bytes.
        subprocess.run([sys.executable, "-c", "import sys; from PIL import Image; Image.open(sys.argv[1]).convert('RGB').quantize(64)"
                        ".save(sys.argv[1], optimize=True)", picture], check=True)
        shown = picture.read_bytes()
    if len(shown) > LARGEST:
        sys.exit(f"a picture of {len(shown)} bytes: at most {LARGEST} are wanted")
    PAGE.write_bytes(shown)


def main():
    program = os.path.abspath(sys.argv[1])
    new = drawing(program)
    if sys.argv[2:] == ["--check"]:
        if not TEXT.exists() or TEXT.read_text() != new:
            sys.exit("docs/check.svg is not what the program prints: run python3 scripts/pictures.py PROGRAM")
        print("ok  docs/check.svg is what the program prints")
    else:
        TEXT.write_text(new)
        photograph(program)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(textwrap.dedent(__doc__).strip())
    main()
