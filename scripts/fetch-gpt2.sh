#!/usr/bin/env bash
# Fetches the public GPT-2 (124 million parameters) into a folder: weights, vocabulary, merges, config.
#
#   scripts/fetch-gpt2.sh [FOLDER]      (default: gpt2)
#
# A transfer that was cut short goes on where it stopped, also in another run. A file is moved into place only when its
# SHA-256 is the one below; a file that is there is kept, and one that is there and differs is an error. Where the name of
# the server is not known, as without a network, nothing is tried again.
#
#   FETCH_URL   where the files are (default: Hugging Face's openai-community/gpt2)
#   FETCH_SUMS  a file of sums and names in place of the list below, for mirrors of other checkpoints
set -euo pipefail

folder=${1:-gpt2}
url=${FETCH_URL:-https://huggingface.co/openai-community/gpt2/resolve/main}
sums='248dfc3911869ec493c76e65bf2fcf7f615828b0254c12b473182f0f81d3a707  model.safetensors
196139668be63f3b5d6574427317ae82f612a97c5d1cdaf36ed2256dbf636783  vocab.json
1ce1664773c50f3e0cc8842619a93edc4624525b728b188a9e0be33b7726adc5  merges.txt'
[ -z "${FETCH_SUMS:-}" ] || sums=$(cat "$FETCH_SUMS")
attempts=5

complain() { echo "fetch-gpt2: $*" >&2; }

if [ $# -gt 1 ] || [ "${1:-}" = --help ] || [ "${1:-}" = -h ]; then
    sed -n '2,11s/^# \{0,1\}//p' "$0" >&2
    exit 2
fi
case $folder in
    -*) complain "unknown option $folder"; exit 2 ;;
esac

sum_of() {
    if command -v sha256sum >/dev/null; then sha256sum <"$1"; else shasum -a 256 <"$1"; fi | cut -d ' ' -f 1
}

# transfer URL FILE: the rest of the file, from where it stops.
transfer() {
    if command -v curl >/dev/null; then
        curl --fail --location --silent --show-error --connect-timeout 20 --speed-limit 100 --speed-time 60 \
            --continue-at - --output "$2" "$1"
    elif command -v wget >/dev/null; then
        wget --quiet --timeout 60 --tries 1 --continue --output-document "$2" "$1"
    else
        complain 'neither curl nor wget is there'
        exit 2
    fi
}

# fetch SUM NAME
fetch() {
    local want=$1 name=$2 part="$folder/$2.part" try status
    if [ -e "$folder/$name" ]; then
        if [ "$(sum_of "$folder/$name")" = "$want" ]; then
            echo "$name is there"
            return 0
        fi
        complain "$folder/$name is there, and is another file: move it away first"
        return 1
    fi
    for try in $(seq $attempts); do
        # A part may be whole already, and a server has nothing to say about what follows it.
        if [ -e "$part" ] && [ "$(sum_of "$part")" = "$want" ]; then
            break
        fi
        status=0
        transfer "$url/$name" "$part" || status=$?
        case $status in
            0)
                [ "$(sum_of "$part")" != "$want" ] || break
                complain "$name: what came has another SHA-256, and was thrown away"
                rm -f "$part"
                ;;
            # curl's words for a proxy and a host whose names nobody knows: nothing was cut, and nothing will come.
            5 | 6)
                complain "nothing was fetched: the name of the server in $url is not known here. Is there a network?"
                exit 1
                ;;
            7) complain "$name: the server cannot be reached (attempt $try of $attempts)" ;;
            *) complain "$name: the transfer failed or was cut short (attempt $try of $attempts)" ;;
        esac
        [ "$try" = $attempts ] || sleep "${FETCH_PAUSE:-2}"
    done
    if [ ! -e "$part" ] || [ "$(sum_of "$part")" != "$want" ]; then
        complain "$name could not be fetched from $url"
        return 1
    fi
    mv -n "$part" "$folder/$name"
    [ ! -e "$part" ] || { complain "$folder/$name has appeared meanwhile, and was kept"; return 1; }
    echo "$name fetched"
}

# Folders that are made here go again where nothing came into them, the innermost first.
made=()
above=$folder
while [ ! -d "$above" ]; do
    made+=("$above")
    above=$(dirname "$above")
done
mkdir -p "$folder"
[ ${#made[@]} = 0 ] || trap 'rmdir -- "${made[@]}" 2>/dev/null || true' EXIT
failed=0
while read -r sum name; do
    fetch "$sum" "$name" || failed=1
done <<<"$sums"
[ $failed = 0 ] || exit 1

# The dimensions of this checkpoint, which its weights do not all tell.
if [ -z "${FETCH_SUMS:-}" ] && [ ! -e "$folder/config.json" ]; then
    cat >"$folder/config.json" <<'JSON'
{"model_type": "gpt2", "n_layer": 12, "n_head": 12, "n_embd": 768, "n_positions": 1024, "vocab_size": 50257,
 "activation_function": "gelu_new", "layer_norm_epsilon": 1e-05, "eos_token_id": 50256}
JSON
fi
echo "try: tensorgate generate $folder \"Once upon a time\""
