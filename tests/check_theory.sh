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

"$driver" ring chain --quick --csv "$work/theory.csv" --curves "$work/curves" > "$work/out"
grep -q ' 0 failed' "$work/out" || fail "a row failed"
[ "$(head -n 1 "$work/theory.csv")" = study,quantity,expected,measured,tolerance,pass ] ||
    fail "theory.csv has another header"
grep -q '^ring,' "$work/theory.csv" && grep -q '^chain,' "$work/theory.csv" ||
    fail "theory.csv lacks a study"
grep -v '^#' "$work/curves/theory_ring.csv" | head -n 1 | grep -qx series,x,y ||
    fail "theory_ring.csv has another header"

for wrong in nonsense --nonsense --csv; do
    code=0
    "$driver" "$wrong" > "$work/out" 2> "$work/err" || code=$?
    [ "$code" = 2 ] || fail "'$wrong' ends with $code, not 2"
    [ "$(wc -l < "$work/err")" = 1 ] && [ ! -s "$work/out" ] || fail "'$wrong' is not one line"
done

code=0
"$driver" chain --csv "$work/missing/theory.csv" > /dev/null 2> "$work/err" || code=$?
[ "$code" = 1 ] && grep -q missing "$work/err" || fail "an unwritable file goes unnoticed"
