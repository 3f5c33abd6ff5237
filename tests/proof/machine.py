"""What the machine code of the entries takes of the stack, and what the hot casts compile to.

Reads the assembly that `run` has the compiler write for thumbv7em (all of it: the optimiser sees one module), and the sizes
of frames in it (`-Z emit-stack-sizes`). For each entry:

- without indirect calls, the deepest chain of calls is its stack, to the byte; a cycle among them is recursion, an error;
- with indirect calls (formatting), the frames of all functions that it mentions, directly or through tables, are added up:
  each stands on the stack at most once, unless formatting calls itself, which the core's own types do not make it do.

The numbers are held against `stack.tsv`, which `machine.py ASSEMBLY --bless` writes. Functions called `cast_…` are held
against CASTS: how many instructions, calls and jumps backwards they may have.
"""

import re
import sys
from pathlib import Path

GOLDEN = Path(__file__).with_name("stack.tsv")
# What any parser may take, its caller's storage for eight tensors included.
PARSERS, MOST = re.compile(r"entry_\w*open_in$"), 8192
# Compilers differ: what grows by more than this is looked at.
SLACK = 1.25
# name: (instructions, calls). No loop is allowed in any.
CASTS = {
    "cast_bytes": (7, 0),
    "cast_le_f32": (20, 0),
    "cast_native_f32": (28, 0),
    "cast_first_of_le": (11, 0),
    "cast_copy_f32": (36, 1),
}
CALL = re.compile(r"^(?:bl|blx|b|b\.w|bx)\s+([\w.$]+)$")
SYMBOL = re.compile(r"[A-Za-z_$][\w.$]*")


class Function:
    def __init__(self):
        self.frame = None
        self.lines = []

    def calls(self, known):
        """Functions that are called or jumped to by name."""
        found = [match.group(1) for line in self.lines if (match := CALL.match(line))]
        return [name for name in found if name in known]

    def is_indirect(self):
        registers = r"(r\d+|r1\d|ip|sb|sl|fp)$"
        return any(re.match(r"(blx|bx)\s+" + registers, line) for line in self.lines)


def uleb(text):
    """The number behind `.byte` or `.ascii`."""
    kind, value = text.split(None, 1)
    if kind == ".byte":
        raw = bytes(int(part, 0) & 255 for part in value.split(","))
    else:
        raw = value.strip()[1:-1].encode("latin1").decode("unicode_escape").encode("latin1")
    return sum((byte & 127) << (7 * place) for place, byte in enumerate(raw))


def read(path):
    """Functions by name, and the names that each data object mentions."""
    functions, data, current, begins, sizes = {}, {}, None, {}, {}
    lines = iter(Path(path).read_text().splitlines())
    kinds = {}
    for line in lines:
        text = line.split("@")[0].strip()
        if match := re.match(r"\.type\s+([\w.$]+),%(function|object)", text):
            kinds[match.group(1)] = match.group(2)
        elif text.startswith(".section\t.stack_sizes"):
            label = next(lines).split()[1]
            sizes[label] = uleb(next(lines).strip())
        elif match := re.match(r"([\w.$]+):$", text):
            name = match.group(1)
            if name in kinds:
                current = functions.setdefault(name, Function()) if kinds[name] == "function" else None
                body = current.lines if current else data.setdefault(name, [])
            elif current is not None and name.startswith(".Lfunc_begin"):
                begins[name] = current
            elif current is not None:
                current.lines.append(text)
        elif text and (kinds and "body" in locals()):
            if not text.startswith(".") or text.startswith((".long", ".word", ".4byte")):
                body.append(text)
    for label, frame in sizes.items():
        begins[label].frame = frame
    return functions, data


def chain(name, functions, done, path):
    """The deepest stack below `name`; a name on the path again is recursion."""
    if name in path:
        cycle = " -> ".join([*path[path.index(name):], name])
        sys.exit(f"RECURSES {cycle}")
    if name not in done:
        below = functions[name].calls(functions)
        # A function that jumps to itself at its own start is a loop.
        depths = [chain(callee, functions, done, [*path, name]) for callee in set(below) - {name}]
        done[name] = (functions[name].frame or 0) + max(depths, default=0)
    return done[name]


def mentioned(name, functions, data):
    """All functions that `name` can lead to: whatever it or a table that it mentions names."""
    seen, left = set(), [name]
    while left:
        name = left.pop()
        if name in seen:
            continue
        seen.add(name)
        lines = functions[name].lines if name in functions else data[name]
        names = {symbol for line in lines for symbol in SYMBOL.findall(line)}
        left.extend(symbol for symbol in names if symbol in functions or symbol in data)
    return [name for name in seen if name in functions]


def check_stack(functions, data):
    golden = {}
    if GOLDEN.exists():
        rows = [line.split("\t") for line in GOLDEN.read_text().splitlines()[1:]]
        golden = {row[0]: int(row[1]) for row in rows}
    found, done, wrong = {}, {}, []
    for name in sorted(name for name in functions if name.startswith("entry_")):
        all_names = mentioned(name, functions, data)
        if any(functions[one].is_indirect() for one in all_names):
            found[name] = (sum(functions[one].frame or 0 for one in all_names), "sum")
        else:
            found[name] = (chain(name, functions, done, []), "chain")
    if "--bless" in sys.argv:
        rows = [f"{name}\t{depth}\t{how}\n" for name, (depth, how) in found.items()]
        GOLDEN.write_text("entry\tbytes\thow\n" + "".join(rows))
        golden = {name: depth for name, (depth, _) in found.items()}
    for name, (depth, _) in found.items():
        if PARSERS.match(name):
            print(f"ok   {name}: at most {depth} bytes of stack")
            if depth > MOST:
                wrong.append(f"DEEP     {name} takes {depth} bytes of stack, over {MOST}")
        if name not in golden:
            wrong.append(f"UNKNOWN  {name} has no row in stack.tsv: run `tests/proof/run --bless`")
        elif depth > golden[name] * SLACK + 64:
            wrong.append(f"GREW     {name} takes {depth} bytes of stack, and took {golden[name]}")
    wrong += [f"GONE     {name} is in stack.tsv alone" for name in golden if name not in found]
    print(f"ok   {len(found)} entries, at most {max(depth for depth, _ in found.values())} bytes of stack")
    return wrong


def check_casts(functions):
    wrong = []
    for name, (most, calls_allowed) in CASTS.items():
        if name not in functions:
            wrong.append(f"GONE     {name}")
            continue
        labels, instructions, calls, back = {}, 0, 0, 0
        for line in functions[name].lines:
            if line.endswith(":"):
                labels[line[:-1]] = instructions
                continue
            if line.startswith("."):
                continue
            instructions += 1
            target = line.split()[-1]
            if re.match(r"(bl|blx)\b", line) or (CALL.match(line) and target in functions):
                calls += 1
            elif re.match(r"(b|cb)", line) and target in labels:
                back += 1
        print(f"ok   {name}: {instructions} instructions, {calls} calls, {back} loops")
        if instructions > most or calls > calls_allowed or back:
            wrong.append(f"SLOW     {name}: at most {most} instructions, {calls_allowed} calls and no loop are allowed")
    return wrong


def main():
    functions, data = read(sys.argv[1])
    wrong = check_stack(functions, data) + check_casts(functions)
    print("\n".join(wrong))
    sys.exit(1 if wrong else 0)


main()
