#!/usr/bin/env bash
# Replays every seed, corpus and old crash under AddressSanitizer (nightly), and says what came of it. The core has no
# unsafe code; what is looked at here is the views' casts, the kernels, mapped files and the libraries.
#
# LOG=FILE keeps the whole output.
set -u
cd "$(dirname "$0")" || exit 2
log=${LOG:-$(mktemp)}
host=$(rustc +nightly -vV | sed -n 's/^host: //p')
started=$SECONDS
# Leaks are not looked for: the oracles keep a vocabulary and its tables for good.
if RUSTFLAGS='-Zsanitizer=address' ASAN_OPTIONS=detect_leaks=0:detect_stack_use_after_return=1 \
    cargo +nightly run --quiet --profile checked --target "$host" --bin replay >"$log" 2>&1; then
    echo "AddressSanitizer, $(git rev-parse --short HEAD): $(tail -n 1 "$log"), nothing found, $((SECONDS - started)) s"
else
    grep -aE 'ERROR: AddressSanitizer|SUMMARY|panicked|of [0-9]+ bytes:' "$log" | cut -c1-2000
    tail -n 30 "$log"
    exit 1
fi
