#!/usr/bin/env python3
"""The public interface, one line an item, as docs/api.txt has it.

    python3 scripts/api.py           rewrite docs/api.txt
    python3 scripts/api.py --check   write nothing; show what differs and exit 1 where something does

Made from what rustdoc says of the crate as JSON, which a stable toolchain gives with RUSTC_BOOTSTRAP=1 set for it. Each line begins
with the least set of features that has the item: `core` (none), `alloc`, `std`, or `arbitrary`. A line that is gone or
changed is a breaking change, or an item that was moved or renamed, which is one too.
"""

import difflib
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/api.txt"
SETS = [("core", ["--no-default-features"]), ("alloc", ["--no-default-features", "--features", "alloc"]), ("std", []),
        ("arbitrary", ["--features", "arbitrary"])]
# What every type implements, or what says nothing to a caller.
UNSAID = {"Freeze", "UnsafeUnpin", "StructuralPartialEq", "Unpin", "RefUnwindSafe", "UnwindSafe"}
HEADER = "# The public interface; written by `python3 scripts/api.py`. A line that goes or changes breaks callers.\n"


def described(features):
    """The crate as rustdoc has it."""
    target = ROOT / os.environ.get("CARGO_TARGET_DIR", "target")
    command = ["cargo", "rustdoc", "--quiet", "--lib", "--locked", *features, "--",
               "-Zunstable-options", "--output-format", "json", "--cap-lints", "allow"]
    with tempfile.TemporaryDirectory() as folder:
        # For rustdoc alone: build scripts look at the variable, and what is built already would be built anew.
        rustdoc = pathlib.Path(folder) / "rustdoc"
        rustdoc.write_text(f'#!/bin/sh\nRUSTC_BOOTSTRAP=1 exec "{os.environ.get("RUSTDOC", "rustdoc")}" "$@"\n')
        rustdoc.chmod(0o755)
        environment = {**os.environ, "RUSTDOC": str(rustdoc), "RUSTDOCFLAGS": ""}
        subprocess.run(command, cwd=ROOT, env=environment, check=True)
    return json.loads((target / "doc/tensorgate.json").read_text())


class Crate:
    """Writes the items of one description as lines."""

    def __init__(self, said):
        self.index = {str(key): item for key, item in said["index"].items()}
        self.root = str(said["root"])
        self.paths, self.lines, self.waiting = {}, set(), []
        self.place(self.root, "tensorgate", set())
        for id, path in list(self.paths.items()):
            self.item(self.index[id], path)

    def kind(self, item):
        return next(iter(item["inner"].items()))

    def place(self, module, path, inside):
        """Gives every item the shortest path that a caller can write, and keeps the other ones as lines."""
        for id in map(str, self.index[module]["inner"]["module"]["items"]):
            item = self.index.get(id)
            if item is None or id in inside:
                continue
            kind, body = self.kind(item)
            if kind == "use":
                target = str(body["id"])
                if target in self.index and body["is_glob"]:
                    self.place(target, path, inside | {target})
                elif target in self.index:
                    self.name(target, f"{path}::{body['name']}", inside)
                else:
                    self.lines.add(f"pub use {path}::{body['name']} = {body['source']}")
            else:
                self.name(id, f"{path}::{item['name']}", inside)

    def name(self, id, path, inside):
        known = self.paths.get(id)
        if known and known != path:
            short, long = sorted((known, path), key=lambda one: (one.count("::"), one))
            self.lines.add(f"pub use {long} = {short}")
            path = short
        self.paths[id] = path
        if self.kind(self.index[id])[0] == "module":
            self.place(id, path, inside | {id})

    # --- Items.

    def item(self, item, path):
        kind, body = self.kind(item)
        marks = "".join(f"#[{mark}] " for mark in self.marks(item))
        if kind == "module":
            self.lines.add(f"pub mod {path}")
        elif kind == "function":
            self.lines.add(f"pub {marks}{self.function(path, body)}")
        elif kind in ("struct", "enum", "union"):
            self.lines.add(f"pub {marks}{kind} {path}{self.generics(body['generics'])}")
            self.fields(path, kind, body)
            for id in map(str, body["impls"]):
                if id in self.index:
                    self.impl(self.index[id], path)
        elif kind == "trait":
            bounds = self.bounds(body["bounds"])
            self.lines.add(f"pub {marks}trait {path}{self.generics(body['generics'])}{': ' if bounds else ''}{bounds}")
            for id in map(str, body["items"]):
                if id in self.index:
                    self.member(self.index[id], path, "")
        elif kind == "type_alias":
            self.lines.add(f"pub type {path}{self.generics(body['generics'])} = {self.type(body['type'])}")
        elif kind == "constant":
            self.lines.add(f"pub const {path}: {self.type(body['type'])}")
        elif kind == "static":
            self.lines.add(f"pub static {path}: {self.type(body['type'])}")
        elif kind != "use":
            sys.exit(f"{path}: a {kind}, which scripts/api.py cannot write yet")

    def marks(self, item):
        found = []
        for mark in item["attrs"]:
            text = mark if isinstance(mark, str) else " ".join(map(str, mark.values() if isinstance(mark, dict) else [mark]))
            found += ["non_exhaustive"] if "non_exhaustive" in text else []
        return found

    def fields(self, path, kind, body):
        if kind == "enum":
            for id in map(str, body["variants"]):
                variant = self.index[id]
                shape, marks = variant["inner"]["variant"], "".join(f"#[{mark}] " for mark in self.marks(variant))
                form = shape["kind"]
                text = ""
                if isinstance(form, dict) and "tuple" in form:
                    text = "(" + ", ".join(self.field(one) for one in form["tuple"]) + ")"
                elif isinstance(form, dict):
                    names = [self.index[str(one)]["name"] for one in form["struct"]["fields"]]
                    types = [self.field(one) for one in form["struct"]["fields"]]
                    text = " { " + ", ".join(f"{name}: {of}" for name, of in zip(names, types)) + " }"
                self.lines.add(f"pub {marks}variant {path}::{variant['name']}{text}")
            return
        form = body.get("kind", body)
        if isinstance(form, dict) and "tuple" in form:
            for place, one in enumerate(form["tuple"]):
                if one is not None:
                    self.lines.add(f"pub field {path}::{place}: {self.field(one)}")
        else:
            for one in form.get("plain", form).get("fields", []) if isinstance(form, dict) else []:
                self.lines.add(f"pub field {path}::{self.index[str(one)]['name']}: {self.field(one)}")

    def field(self, id):
        item = self.index.get(str(id))
        return self.type(item["inner"]["struct_field"]) if item else "_"

    def impl(self, item, path):
        body = item["inner"]["impl"]
        if body["blanket_impl"] is not None:
            return
        generics = self.generics(body["generics"], where=False)
        where = self.where(body["generics"])
        if body["trait"] is None:
            for id in map(str, body["items"]):
                if id in self.index and self.index[id]["visibility"] == "public":
                    self.member(self.index[id], path, f"  [{generics} {self.type(body['for'])}{where}]" if where else "")
            return
        name = body["trait"]["path"].rsplit("::", 1)[-1]
        if name in UNSAID:
            return
        sign = "!" if body["is_negative"] else ""
        self.lines.add(f"impl{generics} {sign}{self.path(body['trait'])} for {self.type(body['for'])}{where}")
        for id in map(str, body["items"]):
            member = self.index.get(id)
            if member and self.kind(member)[0] == "assoc_type":
                self.lines.add(f"type <{self.type(body['for'])} as {self.path(body['trait'])}>::{member['name']} = "
                               f"{self.type(member['inner']['assoc_type']['type'])}")

    def member(self, item, path, note):
        kind, body = self.kind(item)
        full = f"{path}::{item['name']}"
        if kind == "function":
            self.lines.add(f"pub {self.function(full, body)}{note}")
        elif kind == "assoc_const":
            self.lines.add(f"pub const {full}: {self.type(body['type'])}{note}")
        elif kind == "assoc_type":
            bounds = self.bounds(body["bounds"])
            self.lines.add(f"pub type {full}{': ' + bounds if bounds else ''}{note}")

    def function(self, path, body):
        words = [word for word in ("const", "async", "unsafe") if body["header"][f"is_{word}"]]
        if body["header"]["abi"] != "Rust":
            words.append(f"extern {json.dumps(body['header']['abi'])}")
        inputs = ", ".join(self.input(*one) for one in body["sig"]["inputs"])
        output = "" if body["sig"]["output"] is None else f" -> {self.type(body['sig']['output'])}"
        return (f"{' '.join([*words, 'fn'])} {path}{self.generics(body['generics'], where=False)}({inputs}){output}"
                f"{self.where(body['generics'])}")

    def input(self, name, of):
        text = self.type(of)
        return {"Self": "self", "&Self": "&self", "&mut Self": "&mut self"}.get(text, f"self: {text}") if name == "self" \
            else f"{name}: {text}"

    # --- Types.

    def generics(self, generics, where=True):
        parts = []
        for one in generics["params"]:
            kind, body = next(iter(one["kind"].items()))
            if kind == "lifetime":
                outlives = " + ".join(body["outlives"])
                if not one["name"].startswith("'_"):
                    parts.append(one["name"] + (f": {outlives}" if outlives else ""))
            elif kind == "const":
                parts.append(f"const {one['name']}: {self.type(body['type'])}")
            elif not body.get("is_synthetic"):
                bounds = self.bounds(body["bounds"])
                parts.append(one["name"] + (f": {bounds}" if bounds else ""))
        return (f"<{', '.join(parts)}>" if parts else "") + (self.where(generics) if where else "")

    def where(self, generics):
        parts = []
        for one in generics["where_predicates"]:
            kind, body = next(iter(one.items()))
            if kind == "bound_predicate":
                parts.append(f"{self.type(body['type'])}: {self.bounds(body['bounds'])}")
            elif kind == "lifetime_predicate":
                parts.append(f"{body['lifetime']}: {' + '.join(body['outlives'])}")
            else:
                parts.append(json.dumps(body))
        return f" where {', '.join(parts)}" if parts else ""

    def bounds(self, bounds):
        parts = []
        for one in bounds:
            kind, body = next(iter(one.items()))
            if kind == "trait_bound":
                mark = {"none": "", "maybe": "?", "maybe_const": ""}[body["modifier"]]
                parts.append(mark + self.path(body["trait"]))
            elif kind == "outlives":
                parts.append(body)
            else:
                parts.append("use<" + ", ".join(next(iter(arg.values())) for arg in body) + ">")
        return " + ".join(parts)

    def path(self, of):
        own = self.paths.get(str(of["id"]))
        return (own.removeprefix("tensorgate::") if own else of["path"].removeprefix("crate::")) + self.args(of["args"])

    def args(self, args):
        if args is None or args == "return_type_notation":
            return ""
        if "parenthesized" in args:
            body = args["parenthesized"]
            output = f" -> {self.type(body['output'])}" if body["output"] else ""
            return f"({', '.join(map(self.type, body['inputs']))}){output}"
        body = args["angle_bracketed"]
        parts = []
        for one in body["args"]:
            kind, value = next(iter(one.items())) if isinstance(one, dict) else ("infer", "_")
            parts.append(self.type(value) if kind == "type" else value["expr"] if kind == "const" else value)
        for one in body["constraints"]:
            kind, value = next(iter(one["binding"].items()))
            if kind == "equality":
                term, of = next(iter(value.items()))
                parts.append(f"{one['name']} = {self.type(of) if term == 'type' else of['expr']}")
            else:
                parts.append(f"{one['name']}: {self.bounds(value)}")
        return f"<{', '.join(parts)}>" if parts else ""

    def type(self, of):
        if of is None:
            return "()"
        if of == "infer":
            return "_"
        kind, body = next(iter(of.items()))
        if kind == "resolved_path":
            return self.path(body)
        if kind in ("generic", "primitive"):
            return "!" if body == "never" else body
        if kind == "tuple":
            return f"({', '.join(map(self.type, body))}{',' if len(body) == 1 else ''})"
        if kind == "slice":
            return f"[{self.type(body)}]"
        if kind == "array":
            return f"[{self.type(body['type'])}; {body['len']}]"
        if kind == "borrowed_ref":
            life = f"{body['lifetime']} " if body["lifetime"] else ""
            return f"&{life}{'mut ' if body['is_mutable'] else ''}{self.type(body['type'])}"
        if kind == "raw_pointer":
            return f"*{'mut' if body['is_mutable'] else 'const'} {self.type(body['type'])}"
        if kind == "impl_trait":
            return f"impl {self.bounds(body)}"
        if kind == "dyn_trait":
            traits = [self.path(one["trait"]) for one in body["traits"]]
            return f"dyn {' + '.join(traits + ([body['lifetime']] if body['lifetime'] else []))}"
        if kind == "qualified_path":
            of_trait = f" as {self.path(body['trait'])}" if body["trait"] and body["trait"]["path"] else ""
            own = self.type(body["self_type"])
            return f"<{own}{of_trait}>::{body['name']}" if of_trait else f"{own}::{body['name']}"
        if kind == "function_pointer":
            output = f" -> {self.type(body['sig']['output'])}" if body["sig"]["output"] else ""
            return f"fn({', '.join(self.type(one) for _, one in body['sig']['inputs'])}){output}"
        sys.exit(f"a type of the kind {kind}, which scripts/api.py cannot write yet")


def interface():
    least = {}
    for name, features in SETS:
        for line in Crate(described(features)).lines:
            least.setdefault(line, name)
    order = [name for name, _ in SETS]
    key = lambda pair: (pair[0].split(" ", 1)[0] not in ("pub",), pair[0].split("tensorgate")[-1], order.index(pair[1]), pair[0])
    return HEADER + "".join(f"{name:<9} {line}\n" for line, name in sorted(least.items(), key=key))


def main():
    new = interface()
    old = PAGE.read_text() if PAGE.exists() else ""
    if sys.argv[1:] != ["--check"]:
        PAGE.write_text(new)
    elif new != old:
        sys.stdout.writelines(difflib.unified_diff(old.splitlines(True), new.splitlines(True), "docs/api.txt", "the code", n=0))
        gone = len(set(old.splitlines()) - set(new.splitlines()))
        print(f"{gone} lines are gone or changed: each breaks callers" if gone else "nothing is gone, so that no caller breaks")
        sys.exit("docs/api.txt differs: run python3 scripts/api.py, and say it in CHANGELOG.md")
    print(f"ok  {len(new.splitlines()) - 1} lines of the public interface")


if __name__ == "__main__":
    main()
