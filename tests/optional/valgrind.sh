#!/usr/bin/env bash
# tests/optional/valgrind.sh: one short run of every method under valgrind's memcheck, which also finds numbers
# that were never set; the other two environments, a resumed run, an evaluation and an export of a policy
# (`third_party/setup --with check`, then `tests/run -N`).
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=${FGSF_BUILD:-$root/build}
command -v valgrind >/dev/null || { echo "valgrind is not installed (third_party/setup --with check)"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
check() { # WHAT COMMAND...
    PATH=$PATH:/nowhere valgrind --quiet --error-exitcode=99 --trace-children=yes --log-file="$work/found.%p" "${@:2}" >log 2>&1 ||
        { cat log found.*; echo "valgrind: $1 failed"; exit 1; }
    [ -z "$(cat found.*)" ] || { cat found.*; echo "valgrind: $1"; exit 1; }
    rm -f found.*
    count=$((count + 1))
}
count=0
small=(--scale smoke --quiet --set train.steps_per_task=40 --set train.checkpoint_every=20 --set train.log_every=10
    --set train.batch_size=8 --set net.hidden=8 --set eval.episodes=1 --set eval.horizon=5 --set env.num_tasks=2)
methods=(dqn fg-dqn sfrql fg-sfrql fg-sfrql-random fg-sfrql-average fg-sfrql-seq-average corrected-dqn corrected-sfrql)
mkdir bin # away from the export tool: figures are not the point
cp "$build"/experiments/{four_rooms,reacher,point_maze,export_policy} bin
for method in "${methods[@]}"; do check "$method" bin/four_rooms "${small[@]}" --methods "$method" --out runs; done
for kind in bidirectional convergent; do
    check $kind bin/four_rooms "${small[@]}" --methods fg-sfrql --set gradient.kind=$kind --set target.mode=polyak --out $kind
done
for kind in mix gtd2; do
    check $kind bin/four_rooms "${small[@]}" --methods fg-sfrql --set gradient.kind=$kind --out $kind
done
check torso bin/four_rooms "${small[@]}" --methods fg-sfrql --set net.kind=torso --set net.norm=rms --out torso
check xi bin/four_rooms "${small[@]}" --methods fg-sfrql --set representation=xi --out xi
check resume bin/four_rooms "${small[@]}" --methods "$(IFS=,; echo "${methods[*]}")" --out runs --resume
for env in reacher point_maze; do
    if [ "$("$build/experiments/rollout" --env $env --random --steps 1 2>/dev/null | wc -l)" -gt 0 ]; then
        check $env bin/$env "${small[@]}" --methods fg-sfrql --out $env
    fi
done
check policy bin/export_policy runs/four_rooms/fg-sfrql/seed-0/policy.gguf -o policy.h
echo "valgrind: $count programs, nothing found"
