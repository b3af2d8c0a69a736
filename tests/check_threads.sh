#!/usr/bin/env bash
# --threads changes no bit: train.csv and policies are equal for 1, 2 and 3 threads, with products large enough
# to be shared. And --jobs times --threads stays within the cores unless it is asked for.
set -euo pipefail

bin=$FGSF_BUILD/experiments
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
fail() { echo "threads: $*"; exit 1; }

tiny=(--methods sfrql,fg-sfrql --scale smoke --set train.steps_per_task=300 --set train.batch_size=256
    --set train.log_every=50 --set eval.episodes=1 --set eval.horizon=20)
for n in 1 2 3; do
    PATH=/nowhere "$bin/four_rooms" "${tiny[@]}" --quiet --threads $n --out $n >log 2>&1 || fail "$(cat log)"
    for run in $n/four_rooms/*/seed-0; do
        method=$(basename "$(dirname "$run")")
        "$bin/export_policy" "$run/policy.gguf" -o "$method.$n"
        grep -q '"device.threads": '$n "$run/run.json" || fail "run.json does not say $n threads"
        cmp "1/four_rooms/$method/seed-0/train.csv" "$run/train.csv" || fail "$method with $n threads differs"
        cmp "$method.1" "$method.$n" || fail "$method's policies with $n threads differ"
    done
done
[ "$(wc -l <fg-sfrql.3)" -gt 1000 ] || fail "no policies were compared"

# A run may go on with another number of threads, which is no other experiment.
PATH=/nowhere "$bin/four_rooms" "${tiny[@]}" --quiet --resume --threads 1 --out 3 >log 2>&1 || fail "$(cat log)"
"$bin/four_rooms" --threads 2 --device cpu --scale smoke --out none >log 2>&1 && fail "cpu takes two threads"
grep -q "device.threads: 2" log || fail "the refusal does not name the key"
"$bin/four_rooms" --threads 0 --out none >log 2>&1 && fail "takes no thread at all"
grep -q "device.threads" log || fail "the refusal does not name the key"

# Processes at once: as many as have a core for each thread, unless --jobs says otherwise.
processes() {
    local most=0 now
    PATH=/nowhere "$bin/four_rooms" "${tiny[@]}" --seeds 2 --quiet "$@" >log 2>&1 &
    while kill -0 $! 2>/dev/null; do
        now=$(pgrep -c -P $! || true)
        most=$((now > most ? now : most))
        sleep 0.02
    done
    wait $! || fail "$(cat log)"
    echo $most
}
cores=$(nproc)
[ "$(processes --threads "$cores" --out all)" = 1 ] || fail "$cores threads each, and more than one run at once"
[ "$(processes --threads "$cores" --jobs 2 --out two)" = 2 ] || fail "--jobs 2 is not two runs at once"
echo "threads: passed"
