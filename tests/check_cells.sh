#!/usr/bin/env bash
# --cell K/N: the parts of a job array share one OUT at the same time, do each run once, and leave the
# same bytes as one driver; a part without runs is no error; two whole drivers share an OUT as well.
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
mkdir bin
cp "$FGSF_BUILD/experiments/four_rooms" bin # away from the export tool: figures are not the point
sweep=(bin/four_rooms --methods dqn,fg-sfrql --seeds 2 --scale smoke --set train.steps_per_task=150
    --set eval.episodes=1)

fail() {
    echo "cells: $*"
    exit 1
}

# Every result of every run: the same files with the same bytes.
same_runs() {
    local file
    (cd "$1" && find . -name train.csv -o -name eval.csv -o -name policy.gguf | sort) >files
    [ "$(wc -l <files)" = 12 ] || fail "$1 has $(wc -l <files) files of results, not 12"
    while read -r file; do
        cmp "$1/$file" "$2/$file" || fail "$file differs"
    done <files
    # Seconds are the only column of the summary that may differ.
    cut -d, -f1-16,18- "$1/summary.csv" >one
    cut -d, -f1-16,18- "$2/summary.csv" >two
    cmp one two || fail "the summaries differ"
}

"${sweep[@]}" --jobs 1 --out serial 2>/dev/null
head -1 serial/summary.csv | cut -d, -f17 | grep -qx seconds || fail "summary.csv has other columns"

# Three parts at once, and one that has nothing to do.
pids=()
for part in 1 2 3; do
    "${sweep[@]}" --jobs 1 --out array --cell $part/3 2>part-$part &
    pids+=($!)
done
for pid in "${pids[@]}"; do wait "$pid" || fail "a part failed: $(cat part-*)"; done
[ "$(cat part-* | grep -c '^done ')" = 4 ] || fail "not four runs: $(cat part-*)"
! grep -E 'another process|finished before' part-* || fail "a run belongs to two parts"
same_runs serial array
"${sweep[@]}" --jobs 1 --out array --cell 5/5 2>empty || fail "an empty part failed: $(cat empty)"

# Two whole drivers at once: the locks decide who does what.
"${sweep[@]}" --jobs 1 --out shared 2>first &
"${sweep[@]}" --jobs 1 --out shared 2>second || fail "the second driver failed: $(cat second)"
wait $! || fail "the first driver failed: $(cat first)"
same_runs serial shared

for bad in 0/3 4/3 1 a/b 1/0; do
    code=0
    "${sweep[@]}" --out bad --cell $bad 2>message || code=$?
    [ $code = 2 ] && [ "$(wc -l <message)" = 1 ] && [ ! -e bad ] || fail "--cell $bad gave $code"
done
