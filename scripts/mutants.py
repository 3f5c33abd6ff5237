#!/usr/bin/env python3
"""Every mutant that `cargo mutants` lists for the core, tried in minutes: all of them are built at once.

`cargo mutants` changes one place, builds the crate and its tests, runs them and goes on to the next; with two thousand
mutants that is a day. Here each change is put beside what it replaces, behind a switch that is read when the program runs, so
that one build has them all. A first run notes which tests reach which mutant, and each mutant is then tried with those
alone, the quickest first, until one fails. What the compiler refuses here it refuses there too, such as a value of another
type; a mutant that this program cannot place is named at the end, for `cargo mutants` itself.

The result stands in target/mutants/report.tsv. Exits 1 where a mutant survives that docs/evidence.md does not explain, or where
that page explains one that is gone.

Needs cargo-mutants and the Python packages tree-sitter and tree-sitter-rust: scripts/mutants.sh brings both.
Usage: mutants.py [--only TEXT] [--list] [--keep] [--jobs N]
(--only: mutants whose name has TEXT; --keep: the build and the tests' times stand already)
"""

import argparse
import collections
import concurrent.futures
import dataclasses
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

import tree_sitter
import tree_sitter_rust
from quick_tests import QUICK

ROOT = pathlib.Path(__file__).resolve().parent.parent
WORK = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "mutants"
COPY = WORK / "tree"
SOURCES = WORK / "sources"
FEATURES = ["--no-default-features", "--features", "alloc"]
# Seconds of processor time that a test may take, at the least and as a multiple of what it takes without a mutant.
LEAST, TIMES = 3, 20
# What a process costs besides.
STARTING = 0.005
# A test that takes longer is none of the quick ones.
SLOWEST = 2
MEMORY = 4 << 30

# Read before the program begins and noted when it has ended, so that tests that count allocations see none of it.
SWITCH = """
#[doc(hidden)]
#[allow(missing_docs, unreachable_pub, unsafe_code)]
pub mod mutant {
    extern crate std;
    use core::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
    static ON: AtomicU32 = AtomicU32::new(u32::MAX);
    static REACHED: [AtomicBool; COUNT] = [const { AtomicBool::new(false) }; COUNT];
    unsafe extern "C" { fn atexit(f: extern "C" fn()) -> i32; }
    #[used]
    #[unsafe(link_section = ".init_array")]
    static BEGIN: extern "C" fn() = begin;
    extern "C" fn begin() {
        let on = std::env::var("MUTANT").ok().and_then(|text| text.parse().ok()).unwrap_or(0);
        ON.store(on, Relaxed);
        if std::env::var_os("MUTANTS_REACHED").is_some() { unsafe { atexit(end); } }
    }
    extern "C" fn end() {
        let reached = REACHED.iter().enumerate().filter(|(_, reached)| reached.load(Relaxed));
        let text: std::string::String = reached.map(|(id, _)| std::format!("{id}\\n")).collect();
        let _ = std::fs::write(std::env::var_os("MUTANTS_REACHED").unwrap(), text);
    }
    pub const fn on(id: u32) -> bool { core::intrinsics::const_eval_select((id,), never, now) }
    const fn never(_: u32) -> bool { false }
    fn now(id: u32) -> bool {
        let on = ON.load(Relaxed);
        if on == 0 { REACHED[id as usize].store(true, Relaxed); }
        on == id
    }
}
"""


@dataclasses.dataclass
class Mutant:
    """One of the list, with its number in the build."""

    id: int
    name: str
    file: str
    function: str
    genre: str
    replacement: str
    start: int
    end: int
    outcome: str = ""

    @property
    def key(self) -> str:
        """The name without line and column, which any edit moves."""
        return re.sub(r":\d+:\d+:", ":", self.name, count=1)


# --- The list.


def listed(keep: bool) -> list[dict]:
    """What `cargo mutants` would do, and a copy of the sources that it is about: they may be worked on meanwhile."""
    kept = WORK / "list.json"
    if not (keep and kept.exists()):
        shutil.rmtree(SOURCES, ignore_errors=True)
        shutil.copytree(ROOT / "src", SOURCES / "src")
        command = ["cargo", "mutants", "--list", "--json", "--no-shuffle"]
        kept.write_text(subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout)
    return json.loads(kept.read_text())


def offset(lines: list[str], line: int, column: int) -> int:
    """The place in bytes of a line and column, both from one and the column in characters."""
    before = sum(len(text.encode()) for text in lines[: line - 1])
    return before + len(lines[line - 1][: column - 1].encode())


def mutants(keep: bool) -> list[Mutant]:
    found: list[Mutant] = []
    sources: dict[str, list[str]] = {}
    for number, row in enumerate(listed(keep), 1):
        file = row["file"]
        lines = sources.setdefault(file, (SOURCES / file).read_text(encoding="utf-8").splitlines(keepends=True))
        span = row["span"]
        start, end = (offset(lines, span[edge]["line"], span[edge]["column"]) for edge in ("start", "end"))
        function = (row.get("function") or {}).get("function_name", "")
        found.append(Mutant(number, row["name"], file, function, row["genre"], row["replacement"], start, end))
    return found


# --- The build with all of them.


class Rewriter:
    """Writes a source file anew with each mutant beside what it replaces."""

    def __init__(self, source: bytes, wanted: list[Mutant]):
        language = tree_sitter.Language(tree_sitter_rust.language())
        self.source = source
        self.tree = tree_sitter.Parser(language).parse(source)
        self.at = collections.defaultdict(list)
        for mutant in wanted:
            self.at[(mutant.genre, mutant.start)].append(mutant)
        self.placed: set[int] = set()
        self.bodies = collections.defaultdict(list)
        for mutant in wanted:
            if mutant.genre == "FnValue":
                self.bodies[self.function_around(mutant)].append(mutant)

    def function_around(self, mutant: Mutant) -> int:
        """Where the innermost function begins that has the whole span in its body."""
        node = self.tree.root_node.descendant_for_byte_range(mutant.start, mutant.end - 1)
        while node is not None:
            body = node.child_by_field_name("body") if node.type == "function_item" else None
            if body is not None and body.start_byte <= mutant.start and mutant.end <= body.end_byte:
                return node.start_byte
            node = node.parent
        return -1

    def text(self, node) -> str:
        return self.source[node.start_byte : node.end_byte].decode()

    def render(self, node) -> str:
        """The node with every mutant inside it."""
        kind = node.type
        if kind in ("const_item", "static_item", "const_block", "array_type"):
            # Worked out by the compiler, where there is no switch.
            return self.text(node)
        if kind in ("binary_expression", "compound_assignment_expr"):
            operator = node.child_by_field_name("operator") or node.children[1]
            here = self.take("BinaryOperator", operator.start_byte)
            if here:
                left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
                changed = [(m, f"{self.text(left)} {m.replacement} {self.text(right)}") for m in here]
                return choose(changed, self.inside(node))
        if kind == "unary_expression":
            here = self.take("UnaryOperator", node.start_byte)
            if here:
                changed = [(m, f"{m.replacement}{self.text(node.children[-1])}") for m in here]
                return choose(changed, self.inside(node))
        if kind == "match_arm":
            return self.arm(node)
        if kind == "function_item":
            return self.function(node)
        if kind in ("field_initializer", "shorthand_field_initializer"):
            return self.field(node)
        return self.inside(node)

    def inside(self, node, replaced: dict[int, str] | None = None) -> str:
        """The node's own text around its children, each of them rendered or as `replaced` has it by its identity."""
        parts, place = [], node.start_byte
        for child in node.children:
            parts.append(self.source[place : child.start_byte].decode())
            own = (replaced or {}).get(child.id)
            parts.append(self.render(child) if own is None else own)
            place = child.end_byte
        parts.append(self.source[place : node.end_byte].decode())
        return "".join(parts)

    def take(self, genre: str, start: int) -> list[Mutant]:
        here = self.at.get((genre, start), [])
        self.placed.update(mutant.id for mutant in here)
        return here

    def arm(self, node) -> str:
        gone = self.take("MatchArm", node.start_byte)
        pattern = node.child_by_field_name("pattern")
        condition = pattern.child_by_field_name("condition")
        guards = [f"{mark(m)}!{switch(m)}/*]*/" for m in gone]
        if condition is not None:
            turned = self.take("MatchArmGuard", condition.start_byte)
            own = choose([(m, m.replacement) for m in turned], self.render(condition))
            guards.append(f"({own})")
            written = self.inside(pattern, {condition.id: " && ".join(guards)})
        elif guards:
            written = f"{self.inside(pattern)} if {' && '.join(guards)}"
        else:
            return self.inside(node)
        return self.inside(node, {pattern.id: written})

    def field(self, node) -> str:
        """A field that is set beside a base, and that has the base's value where it is left out."""
        here = self.take("StructField", node.start_byte)
        base = next((child for child in node.parent.children if child.type == "base_field_initializer"), None)
        if not here or base is None:
            return self.inside(node)
        if node.type == "shorthand_field_initializer":
            name = self.text(node)
            return f"{name}: {choose([(m, f'({self.text(base)[2:]}).{name}') for m in here], name)}"
        name, value = self.text(node.child_by_field_name("field")), node.child_by_field_name("value")
        changed = [(m, f"({self.text(base)[2:]}).{name}") for m in here]
        return self.inside(node, {value.id: choose(changed, self.render(value))})

    def function(self, node) -> str:
        body = node.child_by_field_name("body")
        if body is None:
            return self.inside(node)
        here = self.bodies.get(node.start_byte, [])
        self.placed.update(mutant.id for mutant in here)
        if not here:
            return self.inside(node)
        starts = "".join(f" {mark(m)}if {switch(m)} {{ return /*<{m.id}*/{m.replacement}/*>*/; }}/*]*/" for m in here)
        return self.inside(node, {body.id: "{" + starts + self.inside(body)[1:]})


def switch(mutant: Mutant) -> str:
    return f"crate::mutant::on({mutant.id})"


def mark(*mutants: Mutant) -> str:
    return f"/*[{','.join(str(mutant.id) for mutant in mutants)}*/"


def choose(changed: list[tuple[Mutant, str]], own: str) -> str:
    """An expression that is one of the changed ones where its mutant is on."""
    if not changed:
        return own
    arms = " else ".join(f"if {switch(m)} {{ /*<{m.id}*/{text}/*>*/ }}" for m, text in changed)
    return f"({mark(*(m for m, _ in changed))}{arms} else {{ {own} }}/*]*/)"


def write_tree(wanted: list[Mutant]) -> None:
    """The copy of the project that is built: its sources changed, all else as it stands."""
    COPY.mkdir(parents=True, exist_ok=True)
    for entry in ROOT.iterdir():
        link = COPY / entry.name
        if entry.name in ("corpus", "tests", "docs"):
            # What the tests read may be worked on meanwhile, too.
            shutil.copytree(entry, link, dirs_exist_ok=True, ignore=shutil.ignore_patterns("target"))
        elif entry.name not in ("src", "target", ".git", "Cargo.toml", "Cargo.lock") and not link.exists():
            link.symlink_to(entry)
    for name in ("Cargo.toml", "Cargo.lock"):
        put(COPY / name, (ROOT / name).read_text(encoding="utf-8"))
    of_file = collections.defaultdict(list)
    for mutant in wanted:
        of_file[mutant.file].append(mutant)
    for path in sorted((SOURCES / "src").rglob("*")):
        name = str(path.relative_to(SOURCES))
        if path.is_dir():
            (COPY / name).mkdir(parents=True, exist_ok=True)
            continue
        text = path.read_text(encoding="utf-8")
        if name in of_file:
            rewriter = Rewriter(text.encode(), of_file[name])
            text = rewriter.render(rewriter.tree.root_node)
            for mutant in of_file[name]:
                if mutant.id not in rewriter.placed:
                    # `&&` between `let` and a condition: `||` is no Rust there.
                    mutant.outcome = "unviable" if mutant.replacement == "||" else "alone"
        if name == "src/lib.rs":
            count = max((mutant.id for mutant in wanted), default=0) + 1
            text = text.replace("#![cfg_attr(", "#![feature(core_intrinsics, const_eval_select)]\n#![cfg_attr(", 1)
            text += SWITCH.replace("COUNT", str(count))
        put(COPY / name, text)


def put(path: pathlib.Path, text: str) -> None:
    """Writes the file where it changes: what is as it was is not built again."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def cargo(arguments: list[str]) -> tuple[int, list[dict]]:
    flags = "--cap-lints allow -A internal_features " + os.environ.get("RUSTFLAGS", "")
    env = os.environ | {
        "RUSTC_BOOTSTRAP": "1",
        "RUSTFLAGS": flags,
        "CARGO_TARGET_DIR": str(WORK / "target"),
        "CARGO_INCREMENTAL": "0",
        "CARGO_PROFILE_TEST_DEBUG": "0",
        "CARGO_PROFILE_DEV_DEBUG": "0",
    }
    command = ["cargo", *arguments, *FEATURES, "--message-format=json"]
    done = subprocess.run(command, cwd=COPY, env=env, stdout=subprocess.PIPE, text=True, check=False)
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def blamed(message: dict) -> set[int]:
    """The mutants at which an error of the compiler points."""
    found: set[int] = set()
    for span in message["spans"]:
        path = COPY / span["file_name"]
        if not span["file_name"].startswith("src/") or not path.exists():
            continue
        text = path.read_bytes()
        start, end = span["byte_start"], span["byte_end"]
        inner = [
            int(m[1]) for m in re.finditer(rb"/\*<(\d+)\*/.*?/\*>\*/", text, re.S) if m.start() < end and start < m.end()
        ]
        if span["is_primary"] and inner and len(inner) == 1:
            return set(inner)
        found.update(inner)
    if found:
        return found
    for span in message["spans"]:
        text = (COPY / span["file_name"]).read_bytes() if span["file_name"].startswith("src/") else b""
        for start, end, ids in regions(text):
            if start < span["byte_end"] and span["byte_start"] < end:
                found |= ids
    return found


def regions(text: bytes) -> list[tuple[int, int, set[int]]]:
    """Where the marked expressions stand, and of which mutants they are."""
    open_, found = [], []
    for mark_ in re.finditer(rb"/\*\[([\d,]+)\*/|/\*\]\*/", text):
        if mark_[1]:
            open_.append((mark_.start(), {int(one) for one in mark_[1].split(b",")}))
        else:
            start, ids = open_.pop()
            found.append((start, mark_.end(), ids))
    return found


def build(every: list[Mutant]) -> list[pathlib.Path]:
    """Builds the tests, without the mutants that the compiler refuses; gives the programs."""
    tests = ["--lib", *(part for test in QUICK for part in ("--test", test))]
    for command in (["check", "--lib"], ["test", "--no-run", *tests]):
        while True:
            write_tree([mutant for mutant in every if not mutant.outcome])
            status, messages = cargo(command)
            if status == 0:
                break
            errors = [m["message"] for m in messages if m["reason"] == "compiler-message" and m["message"]["level"] == "error"]
            bad = set().union(*(blamed(error) for error in errors if error["spans"])) if errors else set()
            if not bad:
                sys.exit("\n".join(error["rendered"] for error in errors[:3]) or "the build fails")
            print(f"{len(bad)} mutants are refused by the compiler", flush=True)
            for mutant in every:
                if mutant.id in bad:
                    mutant.outcome = "unviable"
    return [
        pathlib.Path(m["executable"])
        for m in messages
        if m["reason"] == "compiler-artifact" and m.get("executable") and m["profile"]["test"]
    ]


# --- The tests.


@dataclasses.dataclass
class Test:
    program: pathlib.Path
    name: str
    seconds: float = 0.0
    reaches: frozenset[int] = frozenset()


def run(test: Test, env: dict, seconds: float) -> tuple[str, float]:
    """How the test went (`ok`, `failed`, `time`), and its seconds of processor time."""

    # By a program of its own: a function run between fork and exec would make each fork copy this process.
    cpu = int(seconds) + 1
    limits = ["prlimit", f"--cpu={cpu}:{cpu + 1}", f"--as={MEMORY}", "--core=0"]
    command = [*limits, test.program, "--exact", test.name, "--test-threads=1", "-q"]
    child = subprocess.Popen(
        command, cwd=COPY, env=os.environ | env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, close_fds=False
    )
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    used = usage.ru_utime + usage.ru_stime
    if child.returncode == 0:
        return "ok", used
    return ("time" if used >= seconds else "failed"), used


def tests_of(programs: list[pathlib.Path], workers: concurrent.futures.Executor, keep: bool) -> list[Test]:
    """Every test, how long it takes and which mutants it reaches, the quickest first."""
    kept = WORK / "tests.json"
    if keep and kept.exists():
        return [Test(pathlib.Path(a), b, c, frozenset(d)) for a, b, c, d in json.loads(kept.read_text())]
    tests = []
    for program in programs:
        names = subprocess.run([program, "--list", "--format=terse"], cwd=COPY, capture_output=True, text=True, check=True)
        tests += [Test(program, line[:-6]) for line in names.stdout.splitlines() if line.endswith(": test")]
    notes = WORK / "reached"
    shutil.rmtree(notes, ignore_errors=True)
    notes.mkdir()

    def measure(item: tuple[int, Test]) -> Test | None:
        number, test = item
        note = notes / str(number)
        outcome, test.seconds = run(test, {"MUTANTS_REACHED": str(note), "MUTANT": "0"}, 120)
        if outcome != "ok":
            print(f"{test.name} is left out: it fails with {MEMORY >> 30} GiB of address space", flush=True)
            return None
        if note.exists():
            test.reaches = frozenset(int(line) for line in note.read_text().split())
        return test

    found = [test for test in workers.map(measure, enumerate(tests)) if test and test.seconds < SLOWEST]
    found.sort(key=lambda test: test.seconds)
    kept.write_text(json.dumps([(str(test.program), test.name, test.seconds, sorted(test.reaches)) for test in found]))
    return found


def attempt(mutant: Mutant, tests: list[Test], killers: dict[str, collections.Counter]) -> None:
    """Tries the tests that reach the mutant: first those that found others of its file, then its module's own, then those that
    reach the most for their time."""
    before = killers[mutant.file]
    module = mutant.file.removeprefix("src/").removesuffix(".rs").removesuffix("/mod").replace("/", "::")

    def order(test: Test) -> tuple[int, float]:
        if before[test.name]:
            return 0, (test.seconds + STARTING) / before[test.name]
        return (1 if test.name.startswith(module + "::tests") else 2), (test.seconds + STARTING) / len(test.reaches)

    reaching = sorted((test for test in tests if mutant.id in test.reaches), key=order)
    mutant.outcome = "survived" if reaching else "unreached"
    for test in reaching:
        outcome, _ = run(test, {"MUTANT": str(mutant.id)}, max(LEAST, TIMES * test.seconds))
        if outcome != "ok":
            mutant.outcome = f"killed\t{test.program.name.rsplit('-', 1)[0]} {test.name}" if outcome == "failed" else "time"
            before[test.name] += 1
            return


# --- What is known of survivors.


def reasons() -> collections.Counter:
    """How many mutants of each name the page explains: ``| `name` | 2 | reason |``."""
    known: collections.Counter = collections.Counter()
    page = ROOT / "docs/evidence.md"
    for line in page.read_text(encoding="utf-8").splitlines() if page.exists() else []:
        row = re.match(r"\| `(src/[^`]+)` \| (\d+) \| .*\S.* \|$", line)
        if row:
            known[row[1].replace("\\|", "|")] += int(row[2])
    return known


def main() -> int:
    options = argparse.ArgumentParser()
    options.add_argument("--only", default="")
    options.add_argument("--list", action="store_true")
    options.add_argument("--keep", action="store_true")
    options.add_argument("--jobs", type=int, default=os.cpu_count())
    options = options.parse_args()
    sys.setrecursionlimit(20_000)
    WORK.mkdir(parents=True, exist_ok=True)
    every = mutants(options.keep)
    if options.list:
        print("\n".join(mutant.name for mutant in every if options.only in mutant.name))
        return 0
    kept = WORK / "programs.json"
    if options.keep and kept.exists():
        saved = json.loads(kept.read_text())
        programs, alone = [pathlib.Path(path) for path in saved["programs"]], saved["alone"]
        placed = {int(one) for path in (COPY / "src").rglob("*.rs") for one in re.findall(r"mutant::on\((\d+)\)", path.read_text())}
        for mutant in every:
            mutant.outcome = "" if mutant.id in placed else "alone" if mutant.name in alone else "unviable"
    else:
        programs = build(every)
        alone = [mutant.name for mutant in every if mutant.outcome == "alone"]
        kept.write_text(json.dumps({"programs": [str(path) for path in programs], "alone": alone}))
    began = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as workers:
        tests = tests_of(programs, workers, options.keep)
        print(f"{len(tests)} tests, {sum(test.seconds for test in tests):.0f} s of processor time", flush=True)
        chosen = [mutant for mutant in every if not mutant.outcome and options.only in mutant.name]
        killers: dict[str, collections.Counter] = collections.defaultdict(collections.Counter)
        with (WORK / f"report{options.only.replace('/', '-')}.tsv").open("w", encoding="utf-8") as report:
            for done, mutant in enumerate(workers.map(lambda mutant: attempt(mutant, tests, killers) or mutant, chosen), 1):
                report.write(f"{mutant.name}\t{mutant.outcome}\n")
                report.flush()
                if done % 100 == 0:
                    print(f"{done} of {len(chosen)}, {time.monotonic() - began:.0f} s", flush=True)
    return summary([mutant for mutant in every if options.only in mutant.name], whole=not options.only)


def summary(every: list[Mutant], *, whole: bool) -> int:
    left = [mutant for mutant in every if mutant.outcome in ("survived", "unreached")]
    known = reasons()
    unexplained = []
    for mutant in left:
        if known[mutant.key] > 0:
            known[mutant.key] -= 1
        else:
            unexplained.append(mutant)
    for mutant in unexplained:
        print(f"{mutant.outcome}: {mutant.name}")
    gone = [name for name, count in known.items() if count > 0] if whole else []
    for name in gone:
        print(f"explained, but killed or gone: {name}")
    alone = [mutant.name for mutant in every if mutant.outcome == "alone"]
    unviable = sum(mutant.outcome == "unviable" for mutant in every)
    killed = sum(mutant.outcome.startswith("killed") for mutant in every)
    ended = sum(mutant.outcome == "time" for mutant in every)
    print(
        f"{len(every)} mutants: {killed} killed, {ended} ended for their time, {len(left)} survived "
        f"({len(left) - len(unexplained)} of them explained), {unviable} do not compile"
    )
    for name in alone:
        print(f"left to cargo mutants: {name}")
    return 1 if unexplained or gone else 0


if __name__ == "__main__":
    sys.exit(main())
