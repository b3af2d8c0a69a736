#!/usr/bin/env bash
# PointMaze and Reacher against MuJoCo 3.x (the official WASM build, run by Node): 200 steps of random
# actions with contacts, and of runs of one action that press the ball into walls and corners.
set -euo pipefail

skip() {
    echo "SKIP: $*"
    exit 77
}
rollout=$FGSF_BUILD/experiments/rollout
[ -x "$rollout" ] || skip "the drivers are not built"
"$rollout" --env point_maze --random --steps 0 >/dev/null 2>&1 || skip "built without MuJoCo"
command -v node >/dev/null && command -v npm >/dev/null || skip "node or npm is not installed"

source=$FGSF_SOURCE/tests/mujoco_oracle
home=$FGSF_BUILD/mujoco_oracle
mkdir -p "$home"
cp "$source/package.json" "$source/package-lock.json" "$source/.npmrc" "$source/oracle.mjs" "$home/"
if ! cmp -s "$source/package-lock.json" "$home/stamp"; then
    (cd "$home" && npm ci >npm.log 2>&1) || skip "npm could not install @mujoco/mujoco: see npm.log"
    cp "$source/package-lock.json" "$home/stamp"
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

count=0
compare() { # ENV LAYOUT STATE ARGUMENTS...
    local env=$1 layout=$2 n=$((++count))
    printf '%s\n' "$3" >"$work/state$n"
    shift 3
    "$rollout" --env "$env" --state "$work/state$n" "$@" >"$work/rollout$n"
    printf '%s %s state%d rollout%d\n' "$env" "$layout" "$n" "$n" >>"$work/list"
}

awk 'BEGIN { srand(3); for (i = 0; i < 200; i++) { if (i % 20 == 0) a = int(9 * rand()); print a } }' \
    >"$work/runs"
while read -r layout state; do
    for seed in 1 2 3; do
        compare point_maze "$layout" "$state" --set "env.layout=$layout" --seed $seed --random \
            --steps 200
    done
    compare point_maze "$layout" "$state" --set "env.layout=$layout" --actions "$work/runs"
done <<END
umaze 1.3 -0.7 3 4 0 0
medium -0.4 0.3 4 -4 0 0
large -2.7 1.3 -5 3 0 0
END

awk 'BEGIN { for (i = 0; i < 200; i++) print 5 }' >"$work/elbow" # pushes the elbow against its limit
compare reacher - "0.3 2.5 1 -2" --set env.reacher_dynamics=gymnasium --actions "$work/elbow"
compare reacher - "0.3 2.5 1 2" --set env.reacher_dynamics=gymnasium --seed 1 --random --steps 200
cd "$work"
node "$home/oracle.mjs" list
