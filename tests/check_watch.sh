#!/usr/bin/env bash
# watch: frames as plain text, returns that are those of eval.csv, held-out tasks, images, redrawing
# on a terminal with the cursor given back, and bad input with exit code 2 and one line.
set -euo pipefail

bin=$FGSF_BUILD/experiments
watch=$bin/watch
work="$(mktemp -d)/with space"
mkdir "$work"
trap 'rm -rf "${work%/*}"' EXIT
cd "$work"

fail() {
    echo "watch: $*"
    exit 1
}

# Runs without figures: they are not what this is about.
mkdir nothing
train() {
    PATH=$work/nothing "$bin/$1" --scale smoke --set train.steps_per_task=100 --out runs --quiet \
        --set net.hidden=16,16 --set train.batch_size=16 --set eval.episodes=3 \
        --set eval.horizon=20 "${@:2}" 2>log || fail "$1: $(cat log)"
}
train four_rooms --methods dqn,fg-sfrql
policy=runs/four_rooms/fg-sfrql/seed-0/policy.gguf

# ---- the same episodes as eval.csv ---------------------------------------------------------------

compare() { # POLICY TASK MODEL EPSILON FLAGS...
    local folder=${1%/*} task=$2 model=$3 epsilon=$4
    "$watch" "$1" --task "$task" --episodes 3 --epsilon "$epsilon" "${@:5}" >frames
    sed -n 's/^episode \([0-9]*\): return \([^,]*\), \([0-9]*\) steps.*/\1,\2,\3/p' frames >played
    awk -F, -v t="$task" -v m="$model" -v e="$epsilon" \
        '$1 == t && $3 == m && $4 == e { print $2 "," $5 "," $6 }' "$folder/eval.csv" >evaluated
    [ "$(wc -l <played)" = 3 ] || fail "$1: three episodes were expected"
    cmp played evaluated || fail "$1, task $task, $model: not the episodes of eval.csv"
}
compare "$policy" 1 learned 0
compare "$policy" 0 learned 0.03
compare "$policy" 1 true 0 --reward true
compare "$policy" h3 true 0
compare runs/four_rooms/dqn/seed-0/policy.gguf 1 learned 0
others=()
if "$bin/rollout" --env reacher --random --steps 0 >/dev/null 2>&1; then
    others=(reacher point_maze)
fi
for env in "${others[@]}"; do
    train "$env" --methods fg-sfrql
    compare "runs/$env/fg-sfrql/seed-0/policy.gguf" 1 learned 0
    compare "runs/$env/fg-sfrql/seed-0/policy.gguf" h1 ridge 0
    grep -q '@' frames && grep -q 'G' frames || fail "$env: no agent or goal in the picture"
done

# ---- frames --------------------------------------------------------------------------------------

"$watch" "$policy" --task 0 --steps 4 >frames
[ "$(grep -c '^four_rooms  fg-sfrql  task 0 (reward learned)' frames)" = 5 ] || fail "not 5 frames"
[ "$(grep -c '^##############################$' frames)" = 10 ] || fail "no border around the map"
[ "$(grep -c '^> prior' frames)" = 5 ] || fail "no prior is marked"
[ "$(grep -c '^prior [0-9]*: \(left\|up\|right\|down\)$' frames)" = 4 ] || fail "no action is named"
! grep -q $'\033' frames || fail "escape sequences outside of a terminal"
"$watch" "$policy" --steps 3 --epsilon 1 --seed 5 >one
"$watch" "$policy" --steps 3 --epsilon 1 --seed 5 >two
"$watch" "$policy" --steps 3 --epsilon 1 --seed 6 >three
cmp one two
grep -q 'a random action' one || fail "epsilon 1 does not explore"
! cmp -s one three || fail "two seeds play alike"
mkdir pictures
"$watch" "$policy" --steps 2 --frames pictures >/dev/null
! "$watch" "$policy" --frames ".$(printf '%4080s' '' | tr ' ' /)pictures" >/dev/null 2>error &&
    grep -q 'too long' error || fail "a folder without room for names: $(cat error)"
[ "$(ls pictures)" = "$(printf 'frame-0000%d.ppm\n' 0 1 2)" ] || fail "frames: $(ls pictures)"
[ "$(head -c 15 pictures/frame-00000.ppm | tr '\n' ' ')" = "P6 180 180 255 " ] || fail "no PPM"
[ "$(wc -c <pictures/frame-00000.ppm)" = $((15 + 180 * 180 * 3)) ] || fail "the image is cut"
"$watch" --help | grep -q usage
{ "$watch" "$policy" --steps 100 --delay 1 || echo "exit code $?" >code; } | head -1 >/dev/null
[ ! -f code ] || fail "a closed pipe: $(cat code)"

# ---- on a terminal ------------------------------------------------------------------------------

if command -v script >/dev/null; then
    script -qec "$(printf '%q ' "$watch" "$policy" --steps 2 --delay 1)" screen >/dev/null </dev/null
    grep -q $'\033\[?25l' screen && grep -q $'\033\[H' screen || fail "not redrawn in place"
    tail -c 20 screen | grep -q $'\033\[?25h' || tail -2 screen | grep -q $'\033\[?25h' ||
        fail "the cursor is not given back"
    line=$(printf '%q ' env --default-signal=INT "$watch" "$policy" --delay 200)
    script -qec "$line & sleep 1; kill -INT \$!; wait \$!; echo code=\$?" screen >/dev/null \
        </dev/null
    grep -q 'code=130' screen || fail "Ctrl-C: $(tail -3 screen)"
    grep -q $'\033\[?25h' screen || fail "Ctrl-C keeps the cursor"
fi

# ---- bad input -----------------------------------------------------------------------------------

refuse() { # EXPECTED ARGUMENTS...
    local expected=$1 code=0
    shift
    "$watch" "$@" >out 2>error || code=$?
    [ $code = 2 ] || fail "exit code $code, not 2: $*"
    [ "$(wc -l <error)" = 1 ] || fail "not one line: $(cat error)"
    [ ! -s out ] || fail "something was printed: $*"
    grep -qF -- "$expected" error || fail "'$expected' is not in: $(cat error)"
}
refuse "POLICY.gguf is needed"
refuse "missing.gguf" missing.gguf
refuse "with space" "$work"
refuse "not expected" "$policy" "$policy"
refuse "--wrong" "$policy" --wrong 1
refuse "--task" "$policy" --task
refuse "--task '2'" "$policy" --task 2
refuse "--task 'h10'" "$policy" --task h10
refuse "--task 'x'" "$policy" --task x
refuse "--task ''" "$policy" --task ''
refuse "--epsilon '2'" "$policy" --epsilon 2
refuse "--epsilon 'nan'" "$policy" --epsilon nan
refuse "--episodes 'many'" "$policy" --episodes many
refuse "--delay '-1'" "$policy" --delay -1
refuse "--reward 'false'" "$policy" --reward false
refuse "nowhere" "$policy" --frames nowhere
refuse "state.gguf" runs/four_rooms/fg-sfrql/seed-0/state.gguf
printf '_1.\n..G\n' >map.txt # the policy's map, and then another in its place
train four_rooms --methods sfrql --set env.map=map.txt --set env.num_tasks=1 --out mapped
printf '_1.2.3\n..G...\n' >map.txt
refuse "state numbers" mapped/four_rooms/sfrql/seed-0/policy.gguf
echo "no archive" >text.gguf
refuse "text.gguf" text.gguf
head -c 5000 "$policy" >cut.gguf
refuse "cut.gguf" cut.gguf
: >empty.gguf
refuse "empty.gguf" empty.gguf
