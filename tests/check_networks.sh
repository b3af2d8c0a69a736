#!/usr/bin/env bash
# The network of docs/examples, compiled by the commands at its head without a warning: the program
# learns its corridor, and the plugin trains in a driver; its archive names the definition, and is
# refused where that is not registered. The list of operations in docs/networks.md is the program's.
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

[ -f "$FGSF_BUILD/pkgconfig/fgsf.pc" ] || { echo 'skipped: built with a ggml source tree'; exit 77; }
ln -s "$FGSF_BUILD" build
ln -s "$FGSF_SOURCE/docs" docs
mkdir bin
printf '#!/bin/sh\nexec %s -std=c11 -O1 -Wall -Wextra -Werror "$@"\n' "$(command -v "${CC:-cc}")" >bin/cc
chmod +x bin/cc
# The commands at the head of the example, but for the one that would train Four Rooms.
sed -n 's/^\/\/     //p' docs/examples/residual.c | grep -v '^experiments/run' >commands
[ "$(wc -l <commands)" = 3 ]
PATH=$PWD/bin:$PATH bash -euo pipefail commands | tee out
awk '{ if ($6 <= $4 + 0) bad = 1 } END { exit bad || NR != 4 }' out # right is better everywhere

drive() { "$FGSF_BUILD/experiments/$@"; }
drive train --plugin residual.so --env four_rooms --methods fg-sfrql --out runs --quiet --scale smoke \
    --set net.kind=residual --set net.hidden=8,8 --set train.steps_per_task=60 >log 2>&1 || {
    cat log
    exit 1
}
policy=$(find runs -name policy.gguf)
refuse() { # WORDS COMMAND...: fails with one line that holds the words
    if drive "${@:2}" >/dev/null 2>error; then
        echo "not refused: ${*:2}"
        exit 1
    fi
    grep -qF -- "$1" error || {
        echo "expected '$1': $(cat error)"
        exit 1
    }
}
drive export_policy --plugin residual.so "$policy" >/dev/null 2>&1 || true # only mlp fits; no crash
refuse "'residual'" watch "$policy" --task 0
refuse "no network is called 'residual'" train --env four_rooms --methods fg-sfrql --out other \
    --set net.kind=residual

# The operations that program.c lets through are those of the page.
sed -n '/static bool has_backward/,/^}/p' "$FGSF_SOURCE/src/program.c" |
    grep -o 'GGML_\(UNARY_\)\?OP_[A-Z0-9_]*' | sed 's/GGML_\(UNARY_\)\?OP_//' |
    grep -vx 'UNARY\|NONE' | sort -u >allowed
sed -n '/<!-- operations -->/,/<!-- end -->/p' "$FGSF_SOURCE/docs/networks.md" |
    grep -o '`[A-Z0-9_]*`' | tr -d '`' | sort -u >listed
diff allowed listed
