# What the scripts beside this one share: how targets are built, which words they are given, how crashes are shown.
# Sourced in the folder of this file.

# Nightly where there is one; otherwise the stable compiler with its unstable flags allowed.
if rustup run nightly rustc --version >/dev/null 2>&1; then
    cargo=(cargo +nightly)
else
    cargo=(env RUSTC_BOOTSTRAP=1 cargo)
fi
# Large pieces of memory go back to the system when they are let go; by itself the C library keeps them for the next one
# after a while, and a target that asks for tables of megabytes each time seems to grow without an end.
export MALLOC_MMAP_THRESHOLD_=1048576
sanitizer=${SANITIZER:-none}
target_dir=${CARGO_TARGET_DIR:-$PWD/target}/fuzzing
host=$("${cargo[@]}" -vV | sed -n 's/^host: //p')
binaries=$target_dir/$host/release

# sane UNIT NUMBER TARGET…: says what is wrong with them before anything is built. To the engine, what is no number of
# seconds is no end.
sane() {
    local unit=$1 number=$2 target
    shift 2
    case $number in
        '' | 0 | *[!0-9]*)
            echo "${0##*/}: \"$number\" is no number of $unit; first the $unit, then the targets" >&2
            return 1
            ;;
    esac
    for target in "$@"; do
        if [ ! -f "fuzz_targets/$target.rs" ]; then
            echo "${0##*/}: there is no target \"$target\"; there are: $(basename -s .rs fuzz_targets/*.rs | xargs)" >&2
            return 1
        fi
    done
}

# The targets named under the engine, in $binaries: all of them where none is named or they are too many to be built one by
# one.
build_targets() {
    local build=("${cargo[@]}" fuzz build --fuzz-dir . --target-dir "$target_dir" --sanitizer "$sanitizer") target
    if [ $# -eq 0 ] || [ $# -gt 4 ]; then
        "${build[@]}"
        return
    fi
    for target in "$@"; do
        "${build[@]}" "$target" || return
    done
}

# The seeds of every target, and the inputs of earlier campaigns, in FOLDER/TARGET.
write_seeds() {
    cargo run --quiet --bin seeds -- "$1"
}

# The engine's flag for the words that a target's bytes may be made of, where they are text and not choices.
dictionary() {
    case $1 in
        *_generated | *_lies | quant | slices | typed | writer) ;;
        gguf_*) echo -dict=dict/gguf.dict ;;
        cli_inputs) echo -dict=dict/cli.dict ;;
        json_raw) echo -dict=dict/json.dict ;;
        index_*) echo -dict=dict/index.dict ;;
        *) echo -dict=dict/safetensors.dict ;;
    esac
}

# A folder of inputs as an archive that is the same whenever the inputs are.
pack() {
    tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --mode=644 -C "$1" -cf - . | gzip -9n >"$2"
}

# The inputs in a folder that broke something, so that a log alone is enough to have them: up to 3 KiB each.
show_crash() {
    local input
    for input in "$1"/*; do
        [ -f "$input" ] || continue
        case $input in */slow-*) continue ;; esac
        echo "input   $input, $(stat -c %s "$input") bytes; base64 -d of the next line:"
        head -c 3072 "$input" | base64 -w 0
        echo
    done
}
