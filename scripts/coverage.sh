#!/usr/bin/env bash
# Which lines of the parsers are never run: scripts/coverage.sh replay|quick
#
# `replay`: by the replay of the corpus and the cases alone. `quick`: by the quick tests, those that scripts/mutants.py tries
# mutants with. Each line of the core's modules that none of them reached is shown with its text. Needs rustup's component
# llvm-tools, which is installed where it is missing. What is left has its reason in docs/evidence.md.
set -euo pipefail
cd "$(dirname "$0")/.."

parsers='num|cursor|span|store|unique|name|shape|dtype|view|json|safetensors|shards|gguf'
# Writers, copies that own their text and split models have no file of the corpus to read.
but='write|owned|split'
tests=(replay kinds cases_safetensors cases_gguf cases_index)
lib=()
case ${1-replay} in
replay) ;;
quick)
    parsers+='|typed|slice' but='$^'
    lib=(--lib)
    read -ra tests < <(python3 scripts/quick_tests.py)
    ;;
*)
    sed -n '2,7s/^# \?//p' "$0"
    exit 2
    ;;
esac

host=$(rustc -vV | sed -n 's/^host: //p')
tools=$(rustc --print sysroot)/lib/rustlib/$host/bin
[ -x "$tools/llvm-cov" ] || rustup component add llvm-tools >&2
# Not optimised: what is inlined across crates would be counted under another signature, and lost.
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-target}/coverage CARGO_INCREMENTAL=0 CARGO_PROFILE_TEST_OPT_LEVEL=0
export RUSTFLAGS='-C instrument-coverage'
counts=$(mktemp -d)
trap 'rm -rf "$counts"' EXIT

# What runs while the tests are built has counters too.
export LLVM_PROFILE_FILE=$counts/build-%p.profraw
mapfile -t programs < <(cargo test --no-default-features --features alloc "${lib[@]}" "${tests[@]/#/--test=}" \
    --no-run --message-format=json |
    sed -n 's/.*"profile":{[^}]*"test":true[^}]*}.*"executable":"\([^"]*\)".*/\1/p')
[ ${#programs[@]} -gt 0 ]
# Each program by itself: what they have in common is compiled into each, and not always to the same.
for program in "${programs[@]}"; do
    rm -f "$counts"/*.profraw
    LLVM_PROFILE_FILE="$counts/%p-%m.profraw" "$program" -q >&2
    "$tools/llvm-profdata" merge -sparse "$counts"/*.profraw -o "$counts/profdata"
    "$tools/llvm-cov" export -format=lcov -instr-profile "$counts/profdata" "$program" -sources src >>"$counts/lcov"
done
python3 scripts/uncovered.py "^src/($parsers)(/|\.rs)" "/($but)[/.]" <"$counts/lcov"
