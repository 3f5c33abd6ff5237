#!/usr/bin/env bash
# Runs fuzz targets: fuzz/run.sh [SECONDS [TARGET…]]; all targets for 60 seconds each unless told otherwise.
#
# Seeds come from tests/cases and corpus/ each time; what the engine finds is kept in fuzz/corpus/TARGET. A crash ends
# the target, leaves its input in fuzz/artifacts/TARGET and makes this script fail at the end.
# SANITIZER=address adds AddressSanitizer, at half the speed: the core has no unsafe code, so it is off unless asked for.
# ENGINE_FLAGS are given to libFuzzer; LOG names a folder for each target's log.
set -u
cd "$(dirname "$0")" || exit 2
seconds=${1:-60}
sanitizer=${SANITIZER:-none}
[ $# -gt 0 ] && shift
targets=("$@")
[ ${#targets[@]} -gt 0 ] || mapfile -t targets < <(basename -s .rs fuzz_targets/*.rs)
log=${LOG:-$(mktemp -d)}
mkdir -p "$log"

# Nightly where there is one; otherwise the stable compiler with its unstable flags allowed.
if rustup run nightly rustc --version >/dev/null 2>&1; then
    cargo=(cargo +nightly)
else
    export RUSTC_BOOTSTRAP=1
    cargo=(cargo)
fi
target_dir=${CARGO_TARGET_DIR:-$PWD/target}/fuzzing
seeds=$(mktemp -d)
trap 'rm -rf "$seeds"' EXIT

CARGO_TARGET_DIR=$target_dir/host cargo run --quiet --bin seeds -- "$seeds" || exit 2
"${cargo[@]}" fuzz build --fuzz-dir . --target-dir "$target_dir" --sanitizer "$sanitizer" || exit 2

failed=()
for target in "${targets[@]}"; do
    mkdir -p "corpus/$target"
    case $target in
        # The engine's bytes are choices there, not text.
        *_generated | *_lies | quant | slices | typed | writer) dict= ;;
        gguf_*) dict=gguf ;;
        index_*) dict=index ;;
        *) dict=safetensors ;;
    esac
    # shellcheck disable=SC2086
    { TIMEFORMAT='user %0U'; time "${cargo[@]}" fuzz run --fuzz-dir . --target-dir "$target_dir" --sanitizer "$sanitizer" "$target" \
        "corpus/$target" "$seeds/$target" -- \
        -max_total_time="$seconds" -max_len=4096 -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
        ${dict:+-dict=dict/$dict.dict} ${ENGINE_FLAGS:-}; } >"$log/$target" 2>&1
    if [ $? -eq 0 ]; then
        echo "ok      $target $(grep -oE '#[0-9]+[[:space:]]+DONE .*' "$log/$target" | tr -s '\t ' ' ')"
    else
        echo "FAILED  $target (see $log/$target)"
        tail -n 30 "$log/$target"
        failed+=("$target")
    fi
done
[ ${#failed[@]} -eq 0 ] || exit 1
