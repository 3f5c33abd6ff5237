#!/usr/bin/env bash
# A campaign: fuzz/campaign.sh SECONDS [TARGET…] runs the targets with run.sh, minimises what was found, and appends a
# line a target to FUZZING.md: when, commit, target, CPU seconds, executions, edges, features, corpus size, crashes.
set -u
cd "$(dirname "$0")" || exit 2
seconds=${1:?usage: campaign.sh SECONDS [TARGET…]}
shift
targets=("$@")
[ ${#targets[@]} -gt 0 ] || mapfile -t targets < <(basename -s .rs fuzz_targets/*.rs)
export LOG=${LOG:-$(mktemp -d)}
commit=$(git rev-parse --short HEAD)$(git diff --quiet HEAD -- . ../src || echo '+')
crashes() { find "artifacts/$1" -type f 2>/dev/null | wc -l; }
outcome=0
for target in "${targets[@]}"; do
    before=$(crashes "$target")
    ./run.sh "$seconds" "$target" || outcome=1
    log=$LOG/$target
    # The last line of the engine's that carries its figures, whether it was done or found something.
    last=$(grep -aE '^#[0-9]+' "$log" | grep -a 'cov:' | tail -n 1)
    figure() { grep -oE "$1 [0-9]+" <<<"$last" | grep -oE '[0-9]+$' || echo '?'; }
    stat() { grep -aoE "stat::$1:[[:space:]]+[0-9]+" "$log" | grep -oE '[0-9]+$' || echo '?'; }
    cpu=$(grep -aoE '^user [0-9]+' "$log" | grep -oE '[0-9]+' || echo '?')
    printf '| %s | %s | %s | %s | %s | %s | %s | %s | %s |\n' "$(date -u +%F)" "$commit" "$target" "$cpu" \
        "$(stat number_of_executed_units)" "$(figure cov:)" "$(figure ft:)" "$(find "corpus/$target" -type f | wc -l)" \
        "$(($(crashes "$target") - before))" >>../FUZZING.md
done
exit $outcome
