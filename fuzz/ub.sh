#!/usr/bin/env bash
# Replays every seed, corpus and old crash with what the compiler knows to look for of undefined behaviour: Rust has
# no UBSan, but its own checks of every precondition of the standard library's unsafe functions (`-Zub-checks`, which asserts
# alignment, null, overlap and lengths wherever the crate or a library of it calls one), of values of enums and `bool`s that are
# none, of references that are not aligned, and of arithmetic that overflows. Nightly.
#
# LOG=FILE keeps the whole output.
set -u
cd "$(dirname "$0")" || exit 2
log=${LOG:-$(mktemp)}
started=$SECONDS
# Of a planted fault it must say so, or it looks at nothing.
plant() {
    local folder=$1
    cat >"$folder/planted.rs" <<'RUST'
fn main() {
    let bytes = [0_u8; 9];
    let odd = bytes.as_ptr().wrapping_add(1 - bytes.as_ptr() as usize % 2);
    // Not aligned: no reference to a word may be there.
    println!("{:?}", unsafe { std::slice::from_raw_parts(odd.cast::<u32>(), 1) }.len());
}
RUST
    rustc +nightly -Copt-level=3 -Zub-checks=yes "$folder/planted.rs" -o "$folder/planted" 2>>"$log" &&
        ! (exec "$folder/planted") >>"$log" 2>&1
}
planted=$(mktemp -d)
trap 'rm -rf "$planted"' EXIT
plant "$planted" 2>/dev/null || { echo 'the checks see no planted fault'; exit 1; }
if RUSTFLAGS='-Zub-checks=yes -Cdebug-assertions=yes -Coverflow-checks=yes' \
    cargo +nightly run --quiet --profile checked --target-dir "${CARGO_TARGET_DIR:-target}/ub" --bin replay >"$log" 2>&1; then
    echo "checks of undefined behaviour, $(git rev-parse --short HEAD): $(tail -n 1 "$log"), nothing found, $((SECONDS - started)) s"
else
    grep -aE 'unsafe precondition|panicked|of [0-9]+ bytes:' "$log" | cut -c1-2000
    tail -n 30 "$log"
    exit 1
fi
