#!/usr/bin/env bash
# The drivers in bad surroundings: a full device behind stdout, arguments and maps with terminal codes,
# little memory, a request to stop during the evaluation.
set -euo pipefail

bin=$FGSF_BUILD/experiments
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
timeout=$(command -v timeout)
mkdir nothing # on PATH in place of gnuplot: figures are not what this is about

fail() {
    echo "surroundings: $*"
    exit 1
}

# ---- a full device: an error for whatever prints -------------------------------------------------

full() { # COMMAND...
    local code=0
    "$@" >/dev/full 2>log || code=$?
    [ $code -ne 0 ] || fail "$* >/dev/full ends well"
    [ $code -lt 128 ] && grep -q writ log || fail "$* >/dev/full: $code, $(cat log)"
}
full "$bin/four_rooms" --list-keys
full "$bin/four_rooms" --list-keys=markdown
full "$bin/four_rooms" --print-config
full "$bin/reacher" --list-devices
for program in "$bin"/* "$FGSF_BUILD/notebooks-export/export"; do
    case ${program##*/} in bench_*) continue ;; esac
    [ -f "$program" ] && [ -x "$program" ] && full "$program" --help
done
full "$bin/rollout" --env four_rooms --random --steps 3
full "$bin/gradient_oracle" "$FGSF_SOURCE/tests/golden/gradients/full.json"

PATH=$work/nothing "$bin/four_rooms" --scale smoke --methods fg-sfrql --out runs --quiet \
    --set train.steps_per_task=60 --set net.hidden=8 --set train.batch_size=8 \
    --set eval.episodes=1 --set eval.horizon=5 2>log || fail "training: $(cat log)"
full "$bin/watch" runs/four_rooms/fg-sfrql/seed-0/policy.gguf

# Files that an option names, and the page: a folder in its place is told, a link is not followed.
"$bin/overhead" --methods dqn --steps 3 --warmup 1 --csv /dev/full >/dev/null 2>log &&
    fail "overhead --csv /dev/full ends well"
grep -q writ log || fail "overhead --csv /dev/full: $(cat log)"
rm runs/index.html runs/lock
mkdir runs/index.html
ln -s "$work/elsewhere" runs/lock
code=0
PATH=$work/nothing "$bin/four_rooms" --scale smoke --methods fg-sfrql --out runs --quiet \
    --set train.steps_per_task=60 --set net.hidden=8 --set train.batch_size=8 \
    --set eval.episodes=1 --set eval.horizon=5 2>log || code=$?
[ $code = 2 ] && grep -q 'runs/index.html: Is a directory' log || fail "a folder index.html: $code, $(cat log)"
[ ! -e elsewhere ] || fail "the link in place of the lock is followed"
rmdir runs/index.html
rm runs/lock
mkdir -p runs/export/figures # a pipe among the figures does not block the page
mkfifo runs/export/figures/zz.png
PATH=$work/nothing "$timeout" 20 "$bin/four_rooms" --scale smoke --methods fg-sfrql --out runs --quiet \
    --set train.steps_per_task=60 --set net.hidden=8 --set train.batch_size=8 \
    --set eval.episodes=1 --set eval.horizon=5 2>log || fail "a pipe among the figures: $? $(cat log)"

# ---- a plugin that sets a locale with a decimal comma: the same bytes ------------------------------

german() {
    LOCPATH=$work/locale "$1" --plugin ./german.so "${@:2}"
}
cat >german.c <<'END'
#include <locale.h>
int fgsf_plugin_register(void);
int fgsf_plugin_register(void) { return !setlocale(LC_ALL, "de_DE.UTF-8"); }
END
"${CC:-cc}" -shared -fPIC german.c -o german.so
policy=runs/four_rooms/fg-sfrql/seed-0/policy.gguf
mkdir locale
if localedef -i de_DE -f UTF-8 locale/de_DE.UTF-8 2>/dev/null; then
    german "$bin/export_policy" $policy -o german.h --cases 3 || fail "no header"
    "$bin/export_policy" $policy -o plain.h --cases 3
    cmp german.h plain.h
    cmp german.h.cases plain.h.cases
    german "$bin/watch" $policy --reward 1,-0.5,0.25,2 --steps 1 >out || fail "--reward: $(cat out)"
    "$bin/watch" $policy --reward 1,-0.5,0.25,2 --steps 1 >plain
    cmp out plain
    rollout=(--env reacher --random --steps 5)
    "$bin/rollout" "${rollout[@]}" >plain 2>/dev/null || rollout=(--env four_rooms --random --steps 5)
    german "$bin/rollout" "${rollout[@]}" >out
    "$bin/rollout" "${rollout[@]}" >plain
    cmp out plain
    PATH=$work/nothing german "$bin/four_rooms" --scale smoke --methods fg-sfrql --out german --quiet \
        --set train.steps_per_task=60 --set net.hidden=8 --set train.batch_size=8 \
        --set train.log_every=10 --set eval.episodes=1 --set eval.horizon=5
    grep -q '"points":\[10,0,0,0\.[0-9]*,' german/index.html || fail "the page has no curves"
    if command -v gnuplot >/dev/null; then
        german "$FGSF_BUILD/notebooks-export/export" german -o drawn-german >/dev/null
        "$FGSF_BUILD/notebooks-export/export" german -o drawn >/dev/null
        diff -r drawn-german drawn
    fi
fi

# ---- terminal codes: none comes back raw ---------------------------------------------------------

esc=$'\033]0;title\a\033[2J'
raw() { # COMMAND...
    "$@" >out 2>&1 && fail "$* is not refused"
    ! grep -q -P '[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]' out || fail "$* prints $(cat -v out)"
}
printf '_..G\n..%s.\n' "$esc" >bad_cell.txt
printf '_.1G\n....\n\nreward %s 1\n' "$esc" >bad_reward.txt
printf '{"%s": 1}' "$esc" >bad_key.json
raw "$bin/four_rooms" --set "$esc=1"
raw "$bin/four_rooms" --out "new$esc" --help
raw "$bin/theory" --out $'new\xc2\x9b31m'
raw "$FGSF_BUILD/notebooks-export/export" runs -o "new$esc"
raw "$bin/four_rooms" --set "env.map=$esc"
raw "$bin/four_rooms" "--$esc"
raw "$bin/four_rooms" --methods "$esc"
raw "$bin/four_rooms" --config "$esc"
raw "$bin/four_rooms" --config bad_key.json
raw "$bin/four_rooms" --out new --set env.map=bad_cell.txt
raw "$bin/four_rooms" --out new --set env.map=bad_reward.txt
raw "$bin/four_rooms" --device "$esc" --out new
raw "$bin/point_maze" --set "env.layout=$esc"
raw "$bin/four_rooms" --grid "sf.lr=$esc"
raw "$bin/gradient_zoo" --cells "$esc"
raw "$bin/averaging" --cells "$esc"
raw "$bin/watch" "$esc"
raw "$bin/watch" runs/four_rooms/fg-sfrql/seed-0/policy.gguf --task "$esc"
raw "$bin/rollout" --env "$esc"
raw "$bin/rollout" --env four_rooms --actions "$esc"
raw "$bin/theory" "$esc"
raw "$bin/overhead" --methods "$esc"
raw "$bin/overhead" --device "$esc"
raw "$bin/overhead" --set "$esc"
raw "$bin/gradient_oracle" "$esc"
raw "$FGSF_BUILD/notebooks-export/export" "$esc" -o new

# ---- little memory: a message, not an abort, and never a spin ------------------------------------

drivers=(four_rooms)
! "$bin/rollout" --env reacher --random --steps 1 >/dev/null 2>&1 || drivers+=(reacher point_maze)
for limit in 60000 75000 90000 100000 120000 150000 200000 300000; do # KiB of address space
    for driver in "${drivers[@]}"; do
        code=0
        (ulimit -v $limit && PATH=$work/nothing exec "$timeout" -k 1 30 "$bin/$driver" --scale smoke \
            --methods fg-sfrql --out tight --quiet --set train.steps_per_task=50 \
            --set eval.episodes=1) >log 2>&1 || code=$?
        case $code in
        0) ;;
        2) grep -q 'memory\|bytes' log || fail "$driver under $limit KiB: $(cat log)" ;;
        127) grep -q 'shared object\|loading' log || fail "$driver under $limit KiB: $(cat log)" ;;
        *) fail "$driver under $limit KiB: exit code $code: $(cat log)" ;;
        esac
        rm -rf tight
    done
done

# ---- a request to stop during the evaluation -----------------------------------------------------

long=(--scale smoke --methods sfrql --quiet --set train.steps_per_task=60 --set net.hidden=8
    --set train.batch_size=8 --set eval.horizon=200)
start() { # OUT
    PATH=$work/nothing "$bin/four_rooms" "${long[@]}" --set eval.episodes=100000 --out "$1" \
        "${@:2}" 2>log &
    pid=$!
    until [ -f "$1/four_rooms/sfrql/seed-0/policy.gguf" ]; do
        kill -0 $pid 2>/dev/null || fail "ended before the evaluation: $(cat log)"
        sleep 0.05
    done
    sleep 0.3
}
start stop
kill -TERM $pid
code=0
wait $pid || code=$?
[ $code = 130 ] || fail "SIGTERM during the evaluation: exit code $code: $(cat log)"
grep -q '"status": "running"' stop/four_rooms/sfrql/seed-0/run.json ||
    fail "SIGTERM during the evaluation: $(cat stop/four_rooms/sfrql/seed-0/run.json)"
rm -rf stop

# And while it trains, with eval.every.
PATH=$work/nothing "$bin/four_rooms" "${long[@]}" --set eval.episodes=100000 --set eval.every=20 \
    --out every 2>log &
pid=$!
until [ -f every/four_rooms/sfrql/seed-0/curve.csv ]; do
    kill -0 $pid 2>/dev/null || fail "ended before the evaluation: $(cat log)"
    sleep 0.05
done
sleep 0.5
kill -TERM $pid
code=0
wait $pid || code=$?
[ $code = 130 ] && ! grep -q killed log || fail "SIGTERM during eval.every: $code: $(cat log)"

# Two at once: the checkpoint, and no temporary file.
start stop
kill -TERM $pid
kill -INT $pid
wait $pid || true
[ -z "$(find stop -name '*.tmp')" ] || fail "two signals leave $(find stop -name '*.tmp')"
[ -f stop/four_rooms/sfrql/seed-0/state.gguf ] || fail "two signals: no checkpoint"
touch stop/summary.csv.1.tmp stop/four_rooms/sfrql/seed-0/policy.gguf.1.tmp # of a killed driver
touch stop/notes.2024.tmp # of somebody else
start stop --resume
kill -TERM $pid
wait $pid || true
[ "$(find stop -name '*.tmp')" = stop/notes.2024.tmp ] || fail "leftovers: $(find stop -name '*.tmp')"
