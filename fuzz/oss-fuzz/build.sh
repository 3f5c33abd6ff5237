#!/bin/bash -eu
# Builds every target into $OUT, with its seeds, its words and its bounds. Used by OSS-Fuzz and by ClusterFuzzLite.
cd "$SRC/tensorgate/fuzz"

# The seeds are made by an ordinary program: without the engine's flags.
seeds=$(mktemp -d)
RUSTFLAGS='' CFLAGS='' CXXFLAGS='' cargo run --release --bin seeds -- "$seeds"

cargo fuzz build -O --debug-assertions --fuzz-dir .

for source in fuzz_targets/*.rs; do
    target=$(basename -s .rs "$source")
    cp "target/x86_64-unknown-linux-gnu/release/$target" "$OUT/"
    (cd "$seeds/$target" && zip -qr "$OUT/${target}_seed_corpus.zip" .)
    # The engine's flag for the words, or nothing where a target's bytes are choices.
    words=$(bash -c '. ./engine.sh; dictionary "$1"' engine "$target")
    [ -z "$words" ] || cp "${words#-dict=}" "$OUT/$target.dict"
    printf '[libfuzzer]\nmax_len = 4096\ntimeout = 25\nrss_limit_mb = 2048\n' >"$OUT/$target.options"
done
