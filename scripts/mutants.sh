#!/usr/bin/env bash
# Every mutant of the core, tried with the quick tests in one build: see scripts/mutants.py, which this starts with what
# it needs. Arguments are passed on, as in: scripts/mutants.sh --only src/num.rs
#
# The same mutants one by one, as cargo-mutants does it and much slower: cargo mutants (its settings: .cargo/mutants.toml).
set -euo pipefail
cd "$(dirname "$0")/.."

cargo mutants --version >/dev/null 2>&1 || cargo install --locked cargo-mutants
if ! python3 -c 'import tree_sitter, tree_sitter_rust' 2>/dev/null; then
    packages=${CARGO_TARGET_DIR:-target}/mutants/python
    [ -d "$packages" ] || python3 -m pip install --quiet --target "$packages" tree-sitter tree-sitter-rust
    export PYTHONPATH=$packages${PYTHONPATH:+:$PYTHONPATH}
fi
exec nice -n 19 python3 scripts/mutants.py "$@"
