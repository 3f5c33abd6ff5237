#!/usr/bin/env bash
# Runs fuzz targets: fuzz/run.sh [SECONDS [TARGET…]]; all targets for 60 seconds each unless told otherwise.
#
# Seeds come from tests/cases, corpus/ and fuzz/corpora each time; what the engine finds is kept in fuzz/corpus/TARGET. An
# input that breaks a promise ends its target, is left in fuzz/artifacts/TARGET and printed at the end, as base64, and
# makes this script fail.
#
# SEED=N           the same run each time, as far as the machine's speed allows: nothing found earlier is used or kept
# JOBS=N           targets at once (1)
# SANITIZER=address   adds AddressSanitizer, at half the speed: the core has no unsafe code, so it is off unless asked for
# ENGINE_FLAGS     are given to libFuzzer
# LOG              names a folder for each target's log
set -u
cd "$(dirname "$0")" || exit 2
seconds=${1:-60}
[ $# -gt 0 ] && shift
targets=("$@")
[ ${#targets[@]} -gt 0 ] || mapfile -t targets < <(basename -s .rs fuzz_targets/*.rs)
. ./engine.sh
sane seconds "$seconds" "${targets[@]}" || exit 2
log=${LOG:-$(mktemp -d)}
mkdir -p "$log"

fresh=$(mktemp -d)
trap 'rm -rf "$fresh"' EXIT
corpus=$PWD/corpus
[ -z "${SEED:-}" ] || corpus=$fresh/corpus
write_seeds "$fresh/seeds" && build_targets "${targets[@]}" || exit 2

run() {
    local target=$1
    mkdir -p "$corpus/$target" "artifacts/$target"
    # shellcheck disable=SC2046,SC2086
    "$binaries/$target" "$corpus/$target" "$fresh/seeds/$target" "-artifact_prefix=artifacts/$target/" \
        ${SEED:+-seed=$SEED} -max_total_time="$seconds" -max_len=4096 -timeout=30 -rss_limit_mb=2048 \
        -print_final_stats=1 $(dictionary "$target") ${ENGINE_FLAGS:-} >"$log/$target" 2>&1
    echo $? >"$log/$target.exit"
    [ "$(cat "$log/$target.exit")" != 0 ] ||
        echo "ok      $target $(grep -aoE '#[0-9]+[[:space:]]+DONE .*' "$log/$target" | tr -s '\t ' ' ')"
}

for target in "${targets[@]}"; do
    run "$target" &
    # Oldest or not: whichever ends first makes room.
    [ "$(jobs -rp | wc -l)" -lt "${JOBS:-1}" ] || wait -n
done
wait

failed=0
for target in "${targets[@]}"; do
    [ "$(cat "$log/$target.exit")" != 0 ] || continue
    failed=1
    echo "FAILED  $target (see $log/$target)"
    # What was said, without the engine's list of new inputs.
    grep -avE '^(#[0-9]|[[:space:]]+NEW_FUNC|INFO: )' "$log/$target" | cut -c1-600 | tail -n 12
    show_crash "artifacts/$target"
done
exit $failed
