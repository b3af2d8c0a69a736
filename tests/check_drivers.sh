#!/usr/bin/env bash
# Every driver at --scale smoke, with fewer steps still, and the export of it all; then what must not
# go wrong: bad input, kill -9, Ctrl-C, several drivers on one OUT, a full disk.
set -euo pipefail

bin=$FGSF_BUILD/experiments
export_bin=$FGSF_BUILD/notebooks-export/export
work="$(mktemp -d)/with space"
mkdir -p "$work/nothing"
mounted=
cleanup() {
    cd /
    [ -z "$mounted" ] || umount "$mounted" || true
    rm -rf "${work%/*}"
}
trap cleanup EXIT
cd "$work"

fail() {
    echo "drivers: $*"
    exit 1
}

# Every program answers these, whatever else stands on its command line.
for program in "$bin"/* "$export_bin"; do
    [ -f "$program" ] && [ -x "$program" ] || continue
    for flag in --help -h --version; do
        "$program" $flag >"$work/out" 2>"$work/log" || fail "$program $flag: exit code $?"
        [ -s "$work/out" ] && [ ! -s "$work/log" ] || fail "$program $flag: $(cat "$work/log")"
    done
done
"$FGSF_SOURCE/experiments/run" --help >"$work/out" || fail "experiments/run --help: exit code $?"
grep -q '^    four_rooms  *Four Rooms' "$work/out" || fail "experiments/run --help: $(cat "$work/out")"

# As little training as still has two tasks, several checkpoints and every kind of row.
tiny=(--scale smoke --set train.steps_per_task=60 --set train.log_every=20
    --set train.checkpoint_every=50 --set net.hidden=16,16 --set train.batch_size=16
    --set diag.residual_batch=32 --set eval.episodes=2 --set eval.horizon=20)

# driver NAME ARGS...: without figures, which take longest; PATH leads to no gnuplot.
driver() {
    PATH=$work/nothing "$bin/$1" "${tiny[@]}" "${@:2}"
}

# good ARGS...: a driver that must end well; what it says is in `log`.
good() {
    driver "$@" >out 2>log || fail "$*: exit code $?: $(cat log)"
}

# refuse WORD ARGS...: exit code 2 and one line with WORD.
refuse() {
    local word=$1 code=0
    shift
    driver "$@" >out 2>log || code=$?
    [ $code = 2 ] || fail "$*: exit code $code, not 2: $(cat log)"
    [ "$(grep -cv '^start' log)" = 1 ] || fail "$*: not one line: $(cat log)"
    grep -qF -- "$word" log || fail "$*: '$word' is not in: $(cat log)"
}

# same A B: the results of two runs agree byte for byte.
same() {
    local file
    for file in train.csv eval.csv policy.gguf; do
        cmp "$1/$file" "$2/$file" || fail "$1 and $2 differ in $file"
    done
}

# What lies in the run directories of an OUT, and when it was written; leftovers may go.
checksums() {
    (cd "$1" && find . -mindepth 2 -type f -path '*/seed-*' ! -name '*.tmp' -print0 | sort -z |
        xargs -0 sh -c 'stat -c "%n %Y" "$@" && cksum "$@"' sh)
}

# The columns that docs/run-directory.md lists in the section of a file.
documented() { # FILE
    sed -n "/^## $1\$/,/^## [^#]/p" "$FGSF_SOURCE/docs/run-directory.md" |
        sed -n 's/^| \(`.*`\) |.*/\1/p' | tr -d '` ' | tr ',\n' ',,' | sed 's/,$//'
}

steps_of() { sed -n 's/^"steps": \([0-9]*\),.*/\1/p' "$1/run.json"; }
status_of() { sed -n 's/^"status": "\(.*\)",/\1/p' "$1/run.json"; }

have_mujoco=false
! "$bin/rollout" --env reacher --random --steps 0 >/dev/null 2>&1 || have_mujoco=true

# ---- every driver --------------------------------------------------------------------------------

good four_rooms --out runs
good averaging --out runs --cell 1/7
good gradient_ablation --out runs --cells A0,A1,B0,B1,C3,D1-full,H1-semi,J1-task-input
good gradient_zoo --out zoo --cells semi-hard,full --set env.num_tasks=1 --methods fg-sfrql,fg-dqn \
    --grid sf.lr/sf.lr_prior/dqn.lr=3e-4/3e-6/3e-4,1e-3/1e-5/1e-3
[ "$(ls zoo/four_rooms | tr '\n' ' ')" = "fg-dqn@full+dqn.lr=1e-3 fg-dqn@full+dqn.lr=3e-4 \
fg-dqn@semi-hard+dqn.lr=1e-3 fg-dqn@semi-hard+dqn.lr=3e-4 fg-sfrql@full+sf.lr=1e-3 fg-sfrql@full+sf.lr=3e-4 \
fg-sfrql@semi-hard+sf.lr=1e-3 fg-sfrql@semi-hard+sf.lr=3e-4 " ] || fail "zoo: $(ls zoo/four_rooms)"
about=zoo/four_rooms/fg-sfrql@semi-hard+sf.lr=3e-4/seed-0/run.json
for line in '"sf.lr_prior": 3e-06' '"target.period": 100' '"gradient.kind": "semi"' '"env.slip": 0,'; do
    grep -qF "$line" $about || fail "zoo: no $line in $(cat $about)"
done
good four_rooms --out curves --methods dqn,fg-sfrql --set eval.every=30 --set eval.horizon=300 \
    --set env.slip=0.8
for run in curves/four_rooms/*/seed-0; do # a row per 30 steps; the last is what the evaluation at the end finds
    [ "$(cut -d, -f1,2 "$run/curve.csv" | tr '\n' ' ')" = 'step,task 30,0 60,0 90,1 120,1 ' ] ||
        fail "curve.csv: $(cat "$run/curve.csv")"
    [ "$(head -1 "$run/curve.csv")" = "$(documented curve.csv)" ] || fail "curve.csv: columns"
    awk -F, '$1 == 1 && $3 == "learned" && $4 == 0 { n++; a += $5; b += $9; c += $7; d += $6 }
        END { printf "%.7g,%.7g,%.7g,%.7g\n", a / n, b / n, c / n, d / n }' "$run/eval.csv" >expected
    [ "$(tail -n 1 "$run/curve.csv" | awk -F, '{ printf "%.7g,%.7g,%.7g,%.7g", $3, $4, $5, $6 }')" = "$(cat expected)" ] ||
        fail "$run: $(tail -n 1 "$run/curve.csv") is not $(cat expected)"
    ! grep -q '^0,' expected || fail "$run: an evaluation without reward shows nothing"
done
[ "$(ls runs/four_rooms | grep -c 'avg.n=')" = 5 ] || fail "averaging: $(ls runs/four_rooms)"
[ "$(ls runs/four_rooms | grep -c '@[A-J]')" = 9 ] || fail "ablation: $(ls runs/four_rooms)"
if $have_mujoco; then
    good reacher --out runs --methods dqn,fg-sfrql
    good point_maze --out runs --set env.layout=medium \
        --methods fg-sfrql,fg-sfrql-average
    grep -q '"env.layout": "medium"' runs/point_maze/fg-sfrql/seed-0/run.json || fail "layout"
fi
"$bin/theory" --quick --out runs/theory gpi >out 2>log || fail "theory: $(cat log out)"
"$bin/gradient_oracle" "$FGSF_SOURCE/tests/golden/gradients/full.json" >out 2>log && grep -q '"loss' out || fail "oracle: $(cat log)"
"$bin/overhead" --steps 3 --warmup 1 --methods dqn,fg-sfrql --csv runs/overhead.csv >out 2>log ||
    fail "overhead: $(cat log)"
"$bin/overhead" --scaling --steps 1 --warmup 0 --csv runs/overhead_scaling.csv >out 2>log ||
    fail "overhead --scaling: $(cat log)"

# ---- files and columns as documented -------------------------------------------------------------

for run in runs/*/*/seed-*; do
    for file in run.json train.csv eval.csv policy.gguf state.gguf lock; do
        [ -e "$run/$file" ] || fail "$run: no $file"
    done
    [ "$(status_of "$run")" = done ] || fail "$run: $(status_of "$run")"
    for file in train.csv eval.csv; do
        head -1 "$run/$file" | grep -q "^$(documented $file)" || fail "$run/$file: columns"
    done
done
[ "$(head -1 runs/summary.csv)" = "$(documented summary.csv)" ] || fail "summary.csv: columns"
[ "$(wc -l <runs/four_rooms/dqn/seed-0/train.csv)" = 7 ] || fail "train.csv: not 6 rows"
/usr/bin/python3 - <<'PYTHON' || fail "summary.csv: see above"
import csv, pathlib, collections, json
rows = list(csv.DictReader(open("runs/summary.csv")))
seen = collections.Counter()
for run in pathlib.Path("runs").glob("*/*/seed-*"):
    about = json.load(open(run / "run.json"))
    curve = list(csv.DictReader(open(run / "train.csv")))
    train = {r["task"]: r["cum_reward"] for r in curve}
    psi_error = {r["task"]: r["psi_error"] for r in curve if r["psi_error"] != "nan"}
    groups = collections.defaultdict(list)
    for r in csv.DictReader(open(run / "eval.csv")):
        groups[r["task"], r["reward_model"], r["epsilon"]].append(r)
    mine = [r for r in rows if (r["env"], r["method"], r["cell"], int(r["seed"])) ==
            (about["env"], about["method"], about["cell"], about["seed"])]
    assert len(mine) == len(groups), (run, len(mine), len(groups))
    for r in mine:
        group = groups[r["task"], r["reward_model"], r["epsilon"]]
        for column, source in (("eval_return", "return"), ("eval_steps", "steps"),
                               ("eval_success", "success"),
                               ("eval_discounted", "discounted_return"),
                               ("eval_overestimation", "overestimation"),
                               ("eval_action_gap", "action_gap")):
            mean = sum(float(x[source]) for x in group) / len(group)
            assert abs(mean - float(r[column])) < 1e-7, (run, r)
        assert int(r["episodes"]) == len(group) and r["config_hash"] == about["config_hash"]
        assert r["preset"] == about["config"]["preset"], (run, r)
        changed = dict(piece.split("=") for piece in r["changed"].split(", "))
        assert changed["train.steps_per_task"] == str(about["config"]["train.steps_per_task"]), (run, r)
        assert float(r["psi_error"] or -1) == float(psi_error.get(r["task"], -1)), (run, r)
        assert r["heldout"] == str(int(r["task"].startswith("h")))
        assert r["cum_reward"] == "" if r["heldout"] == "1" else (
            abs(float(r["cum_reward"]) - float(train[r["task"]])) < 1e-7), (run, r)
    dqn = "dqn" in about["method"]
    protocols = {(m, e) for t, m, e in groups if not t.startswith("h")}
    wanted = {(m, e) for m in ("learned",) + (() if dqn else ("true",)) for e in ("0", "0.03")}
    assert protocols == wanted, (run, protocols)
    assert any(t.startswith("h") for t, _, _ in groups), run
    seen[about["method"]] += 1
assert sum(seen.values()) >= 20, seen
PYTHON

# ---- a driver draws and prints its table; the export of everything is complete -------------------

if command -v gnuplot >/dev/null; then
    "$bin/four_rooms" "${tiny[@]}" --methods fg-sfrql --out drawn >out 2>log || fail "$(cat log)"
    grep -q '^    drawn/export/figures/four_rooms_cumulative.png' out || fail "no list of figures: $(cat out)"
    grep -q '^method  .*final return' out && grep -q '^fg-sfrql  *1  *few seeds' out ||
        fail "no table: $(cat out)"
    [ -s drawn/export/figures/four_rooms_cumulative.png ] || fail "no figure"
    grep -q 'too short to learn' out || fail "smoke does not say what it is: $(cat out)"
    next=$(sed -n 's/^    experiments.run watch /"$bin\/watch" --plain --steps 1 /p' out)
    grep -q policy.gguf <<<"$next" || fail "no next command: $(cat out)"
    "$export_bin" runs -o all >made 2>log || fail "export: $(cat log)"
    wanted=(four_rooms_cumulative four_rooms_diagnostics four_rooms_avg.n
        overhead overhead_scaling)
    ! $have_mujoco || wanted+=(reacher_trajectories point_maze_medium_trajectories)
    for figure in "${wanted[@]}"; do
        [ -s "all/figures/$figure.png" ] || fail "export: no $figure: $(cat made)"
    done
    [ -s all/notebook.ipynb ] || fail "export: no notebook"
    # A table that was changed is named, and the driver says so by its exit code.
    sed -i '3s/.*/0,0,learned/' drawn/four_rooms/fg-sfrql/seed-0/eval.csv
    code=0
    "$bin/four_rooms" "${tiny[@]}" --methods fg-sfrql --out drawn --quiet >out 2>log || code=$?
    [ $code = 2 ] && grep -q 'eval.csv: is not the file' log || fail "a broken eval.csv: $code, $(cat log)"
    grep -q 'eval.csv: is not the file' drawn/summary.csv || fail "summary.csv keeps silent"
fi

# ---- bad input -----------------------------------------------------------------------------------

one=(four_rooms --methods fg-sfrql --quiet)
echo '{"sf.lr": "fast"}' >wrong.json
echo '{"sf": {"lrr": 1}}' >unknown.json
echo '{"sf.lr": 0.1' >cut.json
touch file
refuse "--wrong" "${one[@]}" --out new --wrong
refuse "sf.lr" "${one[@]}" --out new --set sf.lr=fast
refuse "sf.lrr" "${one[@]}" --out new --set sf.lrr=1
refuse "avg.n" four_rooms --methods fg-sfrql-average --out new --set avg.estimator=split \
    --set avg.n=1
refuse "wrong.json: sf.lr" "${one[@]}" --out new --config wrong.json
refuse "sf.lrr" "${one[@]}" --out new --config unknown.json
refuse "cut.json" "${one[@]}" --out new --config cut.json
refuse "missing.json" "${one[@]}" --out new --config missing.json
refuse "missing.map" "${one[@]}" --out new --set env.map=missing.map
refuse "no_device" "${one[@]}" --out elsewhere --device no_device
refuse "'x'" "${one[@]}" --out new --seeds x
refuse "'0'" "${one[@]}" --out new --seeds 0
refuse "twice" "${one[@]}" --out new --seeds 1,1
refuse "no_method" four_rooms --out new --methods no_method
refuse "nothing to run" averaging --out new --methods dqn
refuse "Z9" gradient_ablation --out new --cells A0,Z9
refuse "--cells" gradient_ablation --out new --cells ,
refuse "nope" averaging --out new --cells plain,nope
refuse "nope" gradient_zoo --out new --cells semi,nope
refuse "cell semi+gradient.kind=full" gradient_zoo --out new --cells semi --grid gradient.kind=full,semi
refuse "sf.nope" "${one[@]}" --out new --grid sf.nope=1,2
refuse "names a value twice" "${one[@]}" --out new --grid sf.lr=1e-3,0.001
refuse "another --grid" "${one[@]}" --out new --grid sf.lr=1,2 --grid sf.lr=3,4
refuse "none of the chosen methods" four_rooms --out new --methods dqn --grid sf.lr=1,2
refuse "sf.lr=2 contradicts cell sf.lr=1" "${one[@]}" --out new --grid sf.lr=1,2 --set sf.lr=2
refuse "compat" gradient_ablation --out new --cells A0 --preset compat
refuse "cell A0" gradient_ablation --out new --cells A0 --set target.mode=none
refuse "'file'" "${one[@]}" --out file
refuse "file/below" "${one[@]}" --out file/below
refuse "/proc/none" "${one[@]}" --out /proc/none
if $have_mujoco; then
    refuse "spiral" point_maze --out new --set env.layout=spiral
fi
[ ! -e new ] || fail "bad input left something behind: $(find new)"

# Another configuration is refused with the key, and nothing changes.
checksums runs >before
refuse "sf.lr=" "${one[@]}" --out runs --set sf.lr=0.01
refuse "train.gamma=" "${one[@]}" --out runs --set train.gamma=0.9 --resume --seeds 2
refuse "preset=" "${one[@]}" --out runs --preset compat
# So are other methods with another environment, training or preset beside runs that are not cells.
refuse "cannot be compared" four_rooms --methods fg-sfrql-seq-average --out runs --set train.gamma=0.9
refuse "env.slip=0.1" four_rooms --methods fg-sfrql-seq-average --out runs --set env.slip=0.1
refuse "compat" four_rooms --methods fg-sfrql-seq-average --out runs --preset compat
# A finished run is never written again.
good four_rooms --methods dqn,fg-sfrql --out runs
grep -q 'finished before' log || fail "finished runs: $(cat log)"
good four_rooms --methods dqn,fg-sfrql --out runs --resume
checksums runs >after
diff before after || fail "finished runs were touched"

# ... unless its user says so, by name.
cp -r runs gone
refuse "--overwrite=gone" "${one[@]}" --out gone --set sf.lr=0.01 --overwrite
refuse "nothing was deleted" "${one[@]}" --out gone --set sf.lr=0.01 --overwrite=runs
diff -r runs gone || fail "--overwrite deletes without being asked to"
good gradient_ablation --cells B1 --out gone --overwrite=gone --set train.gamma=0.9
good gradient_ablation --cells B1 --out gone --set train.gamma=0.9
grep -q 'finished before' log || fail "--overwrite: $(cat log)"
[ -d gone/four_rooms/fg-sfrql@A1 ] || fail "--overwrite deletes other cells"

# ---- seeds, and the printed configuration --------------------------------------------------------

good "${one[@]}" --out seeds --seeds 3
good "${one[@]}" --out seeds --seeds 4,
good "${one[@]}" --out seeds --seeds 6,9,
[ "$(ls seeds/four_rooms/fg-sfrql | tr '\n' ' ')" = "seed-0 seed-1 seed-2 seed-4 seed-6 seed-9 " ] ||
    fail "seeds: $(ls seeds/four_rooms/fg-sfrql)"
same seeds/four_rooms/fg-sfrql/seed-0 runs/four_rooms/fg-sfrql/seed-0
! cmp -s seeds/four_rooms/fg-sfrql/seed-{0,1}/train.csv || fail "two seeds train alike"

# The two cells of the primary contrast differ in the gradient alone.
for cell in B0:sfrql B1:fg-sfrql; do
    driver gradient_ablation --cells ${cell%:*} --methods ${cell#*:} --print-config >${cell%:*}.json
done
[ "$(diff B0.json B1.json | grep -c '^<')" = 2 ] && grep -q '"gradient.kind": "semi",' B0.json &&
    grep -q '"gradient.kind": "full",' B1.json || fail "B0 and B1: $(diff B0.json B1.json)"

print_again() { # DRIVER RUN ARGS...
    driver "$1" "${@:3}" --print-config >printed.json 2>log || fail "$1: $(cat log)"
    rm -rf again
    PATH=$work/nothing "$bin/$1" --config printed.json --out again --quiet "${@:5}" 2>log ||
        fail "$1 --config: $(cat log)"
    same "again/$2" "runs/$2"
}
# The run.json of a run says all that is needed to do it again.
PATH=$work/nothing "$bin/four_rooms" --config runs/four_rooms/sfrql/seed-0/run.json --out old --quiet \
    >out 2>log || fail "--config run.json: $(cat log)"
same old/four_rooms/sfrql/seed-0 runs/four_rooms/sfrql/seed-0
print_again four_rooms four_rooms/fg-sfrql-average/seed-0 --methods fg-sfrql-average
print_again gradient_ablation four_rooms/fg-sfrql@B1/seed-0 --methods fg-sfrql --cells B1
if $have_mujoco; then
    print_again point_maze point_maze/fg-sfrql/seed-0 --methods fg-sfrql --set env.layout=medium
fi

# ---- kill -9, Ctrl-C, and what they leave --------------------------------------------------------

# start ARGS...: a long run in the background, until it has saved a state; its id is in $pid.
long=(--methods fg-sfrql,fg-sfrql-average --out long --jobs 2 --set train.steps_per_task=1500
    --quiet)
start() {
    local run
    env --default-signal=INT "PATH=$work/nothing" "$bin/four_rooms" "${tiny[@]}" "${long[@]}" "$@" \
        >out 2>log &
    pid=$!
    for run in long/four_rooms/fg-sfrql/seed-0 long/four_rooms/fg-sfrql-average/seed-0; do
        # run.json comes before the state that it describes.
        until [ "$(steps_of $run 2>/dev/null || echo 0)" -gt "${from:-0}" ] && [ -f $run/state.gguf ]; do
            kill -0 $pid 2>/dev/null || fail "the long run ended early: $(cat log)"
            sleep 0.05
        done
    done
}
workers() { pgrep -f -- "--out long .*steps_per_task=1500" || true; }

from=0 start
kill -9 $pid
wait $pid 2>/dev/null || true
for _ in $(seq 50); do [ -z "$(workers)" ] || sleep 0.1; done
[ -z "$(workers)" ] || fail "kill -9: workers live on: $(workers)"
run=long/four_rooms/fg-sfrql/seed-0
[ "$(status_of $run)" = running ] || fail "kill -9: $(status_of $run)"

# An unfinished run is not continued by accident, and a broken one not at all.
refuse "--resume" four_rooms "${long[@]}"
cp -r long broken
broken() { # FILE WORD COMMAND...
    rm -rf broken
    cp -r long broken
    (cd broken/four_rooms/fg-sfrql/seed-0 && "${@:3}")
    checksums broken >before
    refuse "$2" four_rooms "${long[@]}" --out broken --methods fg-sfrql --resume
    checksums broken >after
    diff before after || fail "a broken $1 was overwritten"
}
broken state.gguf state.gguf truncate -s 1000 state.gguf
broken state.gguf state.gguf sh -c 'echo nonsense >state.gguf'
broken state.gguf state.gguf cp ../../fg-sfrql-average/seed-0/state.gguf state.gguf
broken train.csv "train.csv: line 2" sed -i '2s/.*/x,0,0,0/' train.csv
broken train.csv "train.csv: its rows" sed -i '3d' train.csv
broken train.csv "train.csv: its rows" truncate -s "$(head -n 2 $run/train.csv | wc -c)" train.csv
broken train.csv "train.csv: its rows" sed -i '2s/,[^,]*$/,0.125/' train.csv
broken train.csv "train.csv" rm train.csv
broken train.csv "train.csv: is not a regular file" sh -c 'rm train.csv && mkfifo train.csv'
broken train.csv "train.csv: line 1" sed -i '1s/step/stop/' train.csv
broken run.json run.json truncate -s 100 run.json
broken run.json "schema" sed -i 's,fgsf.run/1,fgsf.run/9,' run.json
rm -rf broken

touch $run/state.gguf.1.tmp
from=$(steps_of $run) start --resume
[ ! -e $run/state.gguf.1.tmp ] || fail "the leftovers of a killed process stay"
kill -INT $pid
code=0
wait $pid || code=$?
[ $code = 130 ] || fail "Ctrl-C: exit code $code: $(cat log)"
grep -q -- '--resume' log || fail "Ctrl-C does not say how to go on: $(cat log)"
[ -z "$(workers)" ] || fail "Ctrl-C: workers live on: $(workers)"
[ "$(status_of $run)" = running ] || fail "Ctrl-C: $(status_of $run)"

# Two drivers finish it together while each run is written by one of them; then all agrees with runs
# that nobody disturbed.
good four_rooms "${long[@]}" --resume &
first=$!
PATH=$work/nothing "$bin/four_rooms" "${tiny[@]}" "${long[@]}" --resume >out2 2>log2 ||
    fail "the second driver: $(cat log2)"
wait $first || fail "the first driver"
good four_rooms "${long[@]}" --out undisturbed
for method in fg-sfrql fg-sfrql-average; do
    same long/four_rooms/$method/seed-0 undisturbed/four_rooms/$method/seed-0
done
[ "$(cut -d, -f5 long/summary.csv | sort -u | tr '\n' ' ')" = "done status " ] ||
    fail "summary.csv after two drivers: $(cat long/summary.csv)"

# A job that is killed is marked failed and harms no other; it can be resumed.
PATH=$work/nothing "$bin/four_rooms" "${tiny[@]}" "${long[@]}" --out killed >out 2>log &
pid=$!
until [ -f killed/four_rooms/fg-sfrql/seed-0/state.gguf ] &&
    [ -f killed/four_rooms/fg-sfrql-average/seed-0/state.gguf ]; do
    kill -0 $pid 2>/dev/null || fail "the run to be killed ended early: $(cat log)"
    sleep 0.05
done
kill -9 "$(pgrep -P $pid | head -1)"
code=0
wait $pid || code=$?
[ $code = 1 ] && grep -q 'killed by signal 9' log || fail "a killed job: $code, $(cat log)"
[ "$(cat killed/*/*/*/run.json | sed -n 's/^"status": "\(.*\)",/\1/p' | sort | tr '\n' ' ')" = \
    "done failed " ] || fail "a killed job: $(grep -h '"status"' killed/*/*/*/run.json)"
good four_rooms "${long[@]}" --out killed --resume
for method in fg-sfrql fg-sfrql-average; do
    same killed/four_rooms/$method/seed-0 undisturbed/four_rooms/$method/seed-0
done

# A diverged run is finished, keeps its rows and ends well.
good four_rooms --methods fg-sfrql --out diverged --quiet --set train.divergence_limit=1e-30 \
    --set eval.every=7 --set eval.episodes=1
[ "$(status_of diverged/four_rooms/fg-sfrql/seed-0)" = diverged ] || fail "a diverged run"
grep -q '^four_rooms,fg-sfrql,,0,diverged' diverged/summary.csv || fail "diverged: summary.csv"
[ ! -s out ] || fail "--quiet prints: $(cat out)"

# ---- a full disk ---------------------------------------------------------------------------------

mkdir disk
if [ "$(id -u)" = 0 ] && mount -t tmpfs -o size=300k none disk 2>/dev/null; then
    mounted=$work/disk
    code=0
    driver "${one[@]}" --out disk/runs --set train.steps_per_task=1500 >out 2>log || code=$?
    [ $code = 2 ] && grep -q 'disk/runs.*No space left' log || fail "disk full: $code, $(cat log)"
    [ "$(find disk -name '*.tmp' | wc -l)" = 0 ] || fail "disk full: $(find disk -name '*.tmp')"
    mount -o remount,size=50m disk
else
    code=0
    (ulimit -f 100 && driver "${one[@]}" --out disk/runs --set train.steps_per_task=1500) \
        >out 2>log || code=$?
    [ $code = 2 ] && grep -q 'disk/runs.*File too large' log || fail "file limit: $code, $(cat log)"
fi
good "${one[@]}" --out disk/runs --set train.steps_per_task=1500 --resume
same disk/runs/four_rooms/fg-sfrql/seed-0 undisturbed/four_rooms/fg-sfrql/seed-0
