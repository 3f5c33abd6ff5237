#!/usr/bin/env bash
# The whole small scope: every string of up to six symbols in every kind of place of a header (seven in an index's
# metadata), every pair of changed bytes, every layout of three tensors, every byte of every GGUF file of the corpus, each in
# our reader and in a plain one. About a quarter of an hour of CPU.
set -u
cd "$(dirname "$0")" || exit 2
exec cargo test --release --lib scope:: -- --ignored --nocapture --test-threads="${JOBS:-1}"
