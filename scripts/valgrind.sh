#!/usr/bin/env bash
# What maps files, under valgrind: the commands that read tensors' bytes from a mapping (`check --deep`, `hash`, `diff`), over
# small files of the corpus, accepted and refused. Any invalid access is an error, and so is a decision that rests on memory
# that was never written.
#
# Valgrind knows no AVX-512, and the program finds out at run time what the machine has: what it is told there is that of the
# machine that valgrind plays, without it. Kernels are held down to AVX2 besides (TENSORGATE_SIMD).
#
# MOST     files of each kind that each command has a run for (12); ten times as many are checked
# PROGRAM  the program, to build none
set -u
cd "$(dirname "$0")/.." || exit 2
command -v valgrind >/dev/null 2>&1 || { echo 'skipped: valgrind is not installed'; exit 0; }
most=${MOST:-12}
program=${PROGRAM:-}
if [ -z "$program" ]; then
    cargo build --quiet --features cli --bin tensorgate || exit 2
    program=${CARGO_TARGET_DIR:-target}/debug/tensorgate
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export TENSORGATE_SIMD=avx2
check=(valgrind -q --error-exitcode=99 --leak-check=no)
runs=0 failed=0

# watched STATUS… -- ARGUMENTS…: runs the program; its exit code must be one of these.
watched() {
    local allowed=() code
    while [ "$1" != -- ]; do allowed+=("$1"); shift; done
    shift
    "${check[@]}" "$program" "$@" >"$work/out" 2>"$work/err"
    code=$?
    runs=$((runs + 1))
    [[ " ${allowed[*]} " == *" $code "* ]] && return
    failed=$((failed + 1))
    echo "FAILED   exit $code: tensorgate $*"
    tail -n 25 "$work/err"
}

# Every n-th of the small files, so that all kinds come up: some COUNT WHERE…
some() {
    local count=$1
    shift
    find "$@" -type f -size -64k | sort | awk -v most="$count" '{ all[NR] = $0 }
        END { step = NR > most ? NR / most : 1; for (at = 1; at <= NR; at += step) print all[int(at)] }'
}
# each COUNT FOLDER: of both formats.
each() { some "$1" "$2" -name '*.safetensors'; some "$1" "$2" -name '*.gguf'; }
mapfile -t accepted < <(each $((most * 10)) corpus/accept; some $((most * 10)) tests/data/tiny-gpt2-gguf -name '*.gguf')
mapfile -t refused < <(each $((most * 10)) corpus/reject; some $((most * 10)) corpus/deep)
mapfile -t indexes < <(some $((most * 10)) corpus/sets -name '*.index.json')
how=(check --no-policy --deep --quiet --jobs 1)
watched 0 1 -- "${how[@]}" "${accepted[@]}"
watched 1 -- "${how[@]}" "${refused[@]}"
watched 0 1 2 -- "${how[@]}" "${indexes[@]}"
mapfile -t few < <(each "$most" corpus/accept; some "$most" tests/data/tiny-gpt2-gguf -name '*.gguf')
for file in "${few[@]}"; do
    watched 0 -- hash --quiet --jobs 1 "$file"
    watched 0 -- diff --quiet --jobs 1 "$file" "$file"
done
[ $failed -eq 0 ] || exit 1
echo "ok  valgrind, $(git rev-parse --short HEAD): $runs runs over $((${#accepted[@]} + ${#refused[@]} + ${#indexes[@]})) files, nothing found, $SECONDS s"
