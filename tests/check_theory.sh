#!/usr/bin/env bash
# The command line of the theory driver: files, exit codes and one-line errors.
set -euo pipefail

driver=${FGSF_BUILD:?}/experiments/theory
[ -x "$driver" ] || exit 77
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
    echo "$1" >&2
    exit 1
}

"$driver" ring chain baird --quick --out "$work/a/b" > "$work/out"
grep -q ' 0 failed' "$work/out" || fail "a row failed"
[ "$(head -n 1 "$work/a/b/theory.csv")" = study,quantity,expected,measured,tolerance,pass ] ||
    fail "theory.csv has another header"
grep -q '^ring,' "$work/a/b/theory.csv" && grep -q '^chain,' "$work/a/b/theory.csv" ||
    fail "theory.csv lacks a study"
grep -v '^#' "$work/a/b/theory_ring.csv" | head -n 1 | grep -qx series,x,y ||
    fail "theory_ring.csv has another header"
if command -v gnuplot > /dev/null && [ -x "$FGSF_BUILD/notebooks-export/export" ]; then
    [ -s "$work/a/b/export/figures/theory_baird.png" ] && grep -q theory_baird.png "$work/out" ||
        fail "no figure: $(cat "$work/out")"
fi

for wrong in nonsense --nonsense --out; do
    code=0
    "$driver" "$wrong" > "$work/out" 2> "$work/err" || code=$?
    [ "$code" = 2 ] || fail "'$wrong' ends with $code, not 2"
    [ "$(wc -l < "$work/err")" = 1 ] && [ ! -s "$work/out" ] || fail "'$wrong' is not one line"
done

code=0
touch "$work/file"
"$driver" chain --out "$work/file/x" > /dev/null 2> "$work/err" || code=$?
[ "$code" = 2 ] && grep -q "file/x" "$work/err" || fail "an unwritable folder goes unnoticed"
