#!/usr/bin/env bash
# The exporter on made-up runs of every kind: complete, the same twice, scripts that stand alone, a
# notebook that is valid, and bad input that ends with exit code 2, one line and an
# untouched folder. Without nbformat the notebook is not looked at and the test counts as skipped.
set -euo pipefail

export_bin=$FGSF_BUILD/notebooks-export/export
python=/usr/bin/python3
work="$(mktemp -d)/with space"
mkdir "$work"
trap 'rm -rf "${work%/*}"' EXIT
cd "$work"

fail() {
    echo "export: $*"
    exit 1
}

command -v gnuplot >/dev/null || exit 77
[ -x $python ] || exit 77
$python "$FGSF_SOURCE/tests/golden/make_runs.py" runs

# ---- complete, repeatable, standing alone ------------------------------------------------------

"$export_bin" runs -o "out 1" >made
"$export_bin" runs/reacher -o "out 2" >/dev/null
for folder in figures tables; do
    for file in "out 2/$folder"/*; do cmp "$file" "out 1/$folder/${file##*/}"; done
done

for kind in cumulative diagnostics gpi_share scores success evaluation zero_shot profile \
    differences ablation avg.n env.slip sf.lr_prior sf.lr net.norm fg-sfrql_policy_map; do
    grep -q "^figure *figures/four_rooms_$kind.png" made || fail "no figure four_rooms_$kind"
done
for name in point_maze_umaze_trajectories reacher_trajectories overhead overhead_scaling \
    theory_baird; do
    grep -q "^figure *figures/$name.png" made || fail "no figure $name"
done
for name in four_rooms_summary four_rooms_parts four_rooms_comparisons reacher_evaluation overhead theory; do
    grep -q "^table *tables/$name.md" made || fail "no table $name"
done
grep -q "^note *four_rooms dqn: 1 unfinished" made || fail "the diverged run is not named"
for script in "out 1"/figures/*.gp; do
    for ending in png svg csv; do
        [ -s "${script%.gp}.$ending" ] || fail "${script%.gp}.$ending is missing or empty"
    done
done
# A cell is a line, the number behind it the x axis, every other setting a panel.
for row in "sfrql plain,env.slip=0.1; SF: final return,1,1," "fg-sfrql shared,env.slip=0; SF: cumulative reward,20,4,"; do
    grep -q "^$row" "out 1/figures/four_rooms_avg.n.csv" || fail "avg.n: no row $row"
done
grep -q "few seeds" "out 1/figures/reacher_scores.gp" || fail "three seeds are not labelled"
! grep -q "few seeds" "out 1/figures/four_rooms_scores.gp" || fail "five seeds are labelled"
# Cells in the order of their numbers, and a line over them.
figure="out 1/figures/four_rooms_sf.lr_prior.csv"
[ "$(grep -o '^sfrql,SF: success,[^,]*' "$figure" | cut -d, -f3 | tr '\n' ' ')" = "1e-4 3e-4 1e-3 3e-3 " ] ||
    fail "sf.lr_prior: $(cat "$figure")"
grep -q '^sfrql hard,SF: success,1e-3,3,' "$figure" || fail "sf.lr_prior: no cell"
# A grid has a figure per key: a line over numbers, bars over words; the other key's values are panels.
grep -q '^fg-sfrql,net.norm=rms; SF: success,3e-3,2,' "out 1/figures/four_rooms_sf.lr.csv" ||
    fail "sf.lr: $(cat "out 1/figures/four_rooms_sf.lr.csv")"
grep -q '^BARS = 0' "out 1/figures/four_rooms_sf.lr.gp" || fail "sf.lr: bars over numbers"
grep -q '^sfrql,sf.lr=1e-3; SF: success,rms,2,' "out 1/figures/four_rooms_net.norm.csv" ||
    fail "net.norm: $(cat "out 1/figures/four_rooms_net.norm.csv")"
grep -q "^array WORDS\[2\] = \['none', 'rms'\]" "out 1/figures/four_rooms_net.norm.gp" || fail "net.norm: no words"
# What all cells share is left out of their names, and each kind is set against the full gradient.
for kind in semi full; do
    for gamma in 0.9 0.95; do
        cell=$kind+env.slip=0.1+train.gamma=$gamma
        mkdir -p kinds/four_rooms
        cp -r runs/four_rooms/fg-sfrql "kinds/four_rooms/fg-sfrql@$cell"
        sed -i "s/\"cell\": null/\"cell\": \"$cell\"/" "kinds/four_rooms/fg-sfrql@$cell"/*/run.json
    done
done
"$export_bin" kinds -o "kinds out" >/dev/null
grep -q '^full; train.gamma=0.95,cumulative reward,' "kinds out/figures/four_rooms_scores.csv" ||
    fail "kinds: $(cat "kinds out/figures/four_rooms_scores.csv")"
grep -q '^semi,SF: success,0.95,2,' "kinds out/figures/four_rooms_train.gamma.csv" ||
    fail "kinds: $(cat "kinds out/figures/four_rooms_train.gamma.csv")"
cell=+env.slip=0.1+train.gamma=0.9
[ "$(grep -c "^fg-sfrql@full.*,success,all," "kinds out/tables/four_rooms_comparisons.csv")" = 2 ] &&
    grep -q "^fg-sfrql@full$cell,fg-sfrql@semi$cell,success,all," "kinds out/tables/four_rooms_comparisons.csv" ||
    fail "kinds: $(cat "kinds out/tables/four_rooms_comparisons.csv")"
# Success, steps and discounted return of all tasks, the first, the later ones and the repeated.
for row in sfrql,first, sfrql,later, sfrql,repeated,; do
    grep -q "^$row" "out 1/tables/four_rooms_parts.csv" || fail "parts: no row $row"
done
for part in all first later repeated; do
    grep -q "^fg-sfrql,sfrql,success,$part,6," "out 1/tables/four_rooms_comparisons.csv" ||
        fail "comparisons: no $part"
done
# The task's own target in its panel; start, goal and objects with their rewards on the map.
grep -q '^goal,2,0,0,0,0.14' "out 1/figures/reacher_trajectories.csv" || fail "no target of task 2"
grep -q ',goal,G +1$' "out 1/figures/four_rooms_fg-sfrql_policy_map.csv" || fail "no goal on the map"
grep -q ',object,-1$' "out 1/figures/four_rooms_fg-sfrql_policy_map.csv" || fail "no object"
grep -q '^sfrql,0,6,,.*,52,' "out 1/tables/four_rooms_cumulative_reward.csv" ||
    fail "the paper's value is not beside ours"
scaling="out 1/figures/overhead_scaling"
for row in "training step,tasks: GPI alone,32,7.2" "training step,replay,200000,1" \
    "linear growth,batch,4096,256" "linear growth,tasks,32,7.2"; do
    grep -qxF "$row" "$scaling.csv" || fail "$scaling.csv: no row $row"
done

mkdir alone
for name in four_rooms_cumulative overhead_scaling; do
    cp "out 1/figures/$name."{gp,csv} alone
    (cd alone && gnuplot $name.gp 2>log && [ ! -s log ] || fail "$(cat log)")
    cmp alone/$name.svg "out 1/figures/$name.svg"
done

# ---- from a summary alone, and beside it the directories of some of its runs ---------------------

mkdir kept-rows some
$python - <<'PYTHON'
import collections, csv, json, pathlib, shutil
header = "env,method,cell,seed,status,task,heldout,cum_reward,area,reward_model,epsilon,episodes," \
         "eval_return,eval_success,eval_steps,steps,seconds,config_hash,message,eval_discounted"
lines = [header]
for path in sorted(pathlib.Path("runs/reacher").glob("*/*/run.json")):
    run, ends, means = json.loads(path.read_text()), {}, collections.defaultdict(list)
    if run["status"] != "done":
        continue
    for row in csv.DictReader((path.parent / "train.csv").open()):
        step, reward = float(row["task_step"]), float(row["cum_reward"])
        last, before, area = ends.get(row["task"], (0, 0, 0))
        ends[row["task"]] = step, reward, area + (step - last) * (before + reward) / 2
    for row in csv.DictReader((path.parent / "eval.csv").open()):
        means[row["task"], row["reward_model"], row["epsilon"]].append(
            [float(row[c]) for c in ("return", "success", "steps", "discounted_return")])
    steps = sum(end[0] for end in ends.values())
    for (task, model, epsilon), values in means.items():
        score, success, length, discounted = (sum(v) / len(values) for v in zip(*values))
        step, reward, area = ends.get(task, (0, "", ""))
        lines.append(f"reacher,{run['method']},,{run['seed']},done,{task},{int(task[0] == 'h')},"
                     f"{reward},{area and area / step},{model},{epsilon},{len(values)},"
                     f"{score},{success},{length},{steps},{run['seconds']},0,,{discounted}")
    if run["seed"] == 0:
        shutil.copytree(path.parent, pathlib.Path("some") / path.parent.relative_to("runs"))
for folder in ("kept-rows", "some"):
    pathlib.Path(folder, "summary.csv").write_text("\n".join(lines) + "\n")
PYTHON
"$export_bin" kept-rows -o "out 3" >made
! grep -q "cumulative.png" made || fail "curves without data"
"$export_bin" some -o "out 4" >/dev/null
grep -q "n = 1 seed " "out 4/figures/reacher_cumulative.gp" || fail "curves of runs without any"
$python - <<'PYTHON'
import csv, math, pathlib
for out in ("out 3", "out 4"):
    files = sorted(pathlib.Path(out, "tables").glob("*.csv"))
    assert len(files) >= 6, files
    for file in files:
        ours, theirs = ([row for row in csv.reader(path.open())]
                        for path in (file, pathlib.Path("out 2/tables") / file.name))
        assert len(ours) == len(theirs), file
        for a, b in zip(sum(ours, []), sum(theirs, [])):
            same = a == b or math.isclose(float(a), float(b), rel_tol=1e-6, abs_tol=1e-9)
            assert same, f"{file}: {a} and {b}"
PYTHON

# ---- what the runs were, from a summary alone ------------------------------------------------------

# told FOLDER PRESET CHANGED [SED]: the summary again, with the columns that later versions have.
told() {
    mkdir -p "$1"
    sed "${4:-}" kept-rows/summary.csv | awk -F, -v preset="$2" -v changed="$3" '
        NR == 1 { print $0 ",eval_overestimation,eval_action_gap,preset,changed,psi_error"; next }
        { print $0 ",0.5,0.25," preset ",\"" changed "\"," ($2 ~ /dqn/ || $7 ? "" : 0.125) }' >"$1/summary.csv"
}
# refused WORD... FOLDER: exit code 2 and one line with all words.
refused() {
    local code=0
    "$export_bin" "${!#}" -o refused-out >/dev/null 2>err || code=$?
    [ $code = 2 ] && [ "$(wc -l <err)" = 1 ] || fail "$*: exit code $code: $(cat err)"
    for word in "${@:1:$#-1}"; do grep -qF -- "$word" err || fail "'$word' is not in: $(cat err)"; done
}

# Values: the same from directories and from their summary, and nothing where no run has any.
cp -r runs/reacher with-values
sed -i '1s/$/,psi_error/; 2,$s/$/,0.125/; $s/0.125$/nan/' with-values/*sfrql*/*/train.csv
sed -i '1s/$/,overestimation,action_gap/; 2,$s/$/,0.5,0.25/' with-values/*/*/eval.csv
told clean clean ""
for folder in with-values clean; do
    "$export_bin" $folder -o "$folder out" >/dev/null
    grep -q '^sfrql,3,few seeds,0.5,0.5,0.5,0.25,0.25,0.25,0.125,0.125,0.125$' "$folder out/tables/reacher_values.csv" &&
        grep -q '^dqn,3,few seeds,0.5,0.5,0.5,0.25,0.25,0.25,,,$' "$folder out/tables/reacher_values.csv" ||
        fail "$folder: $(cat "$folder out/tables/reacher_values.csv")"
    grep -q '^fg-sfrql,sfrql,error of psi,all,3,0,' "$folder out/tables/reacher_comparisons.csv" ||
        fail "$folder: errors of psi are not compared"
done
[ ! -e "out 2/tables/reacher_values.csv" ] || fail "values of runs without any"
told differs clean ""
awk -F, 'NR > 1 && $2 == "sfrql" { sub(/,0.5,0.25,clean/, ",0.7,0.15,clean") } 1' differs/summary.csv >x
mv x differs/summary.csv
"$export_bin" differs -o differs-out >/dev/null
grep -q '^sfrql,overestimation,0.7,0.7,0.7,3$' differs-out/figures/reacher_values.csv || fail "no figure of values"
grep -q "^TITLE = 'reacher (clean): overestimation" differs-out/figures/reacher_values.gp || fail "no preset in the title"
[ "$(head -1 differs-out/tables/reacher_summary.csv)" = "$(head -1 "out 2/tables/reacher_summary.csv")" ] ||
    fail "the summary has other columns"

# Other settings: between seeds, between methods, and where only the hash of the configuration is known.
told slip/a clean ""
told slip/b clean "env.slip=0.1" '2,$s/^\([^,]*,[^,]*,,\)/\19/'
refused "env.slip=0.1" slip/a/summary.csv slip/b/summary.csv slip
told slip/a clean "" '/,fg-dqn,/d'
told slip/b clean "env.slip=0.1" '1p; /,fg-dqn,/!d'
refused "env.slip=0.1" slip/a/summary.csv slip/b/summary.csv slip
told slip/b clean "env.slip=0" '1p; /,fg-dqn,/!d' # the usual value
"$export_bin" slip -o slip-out >/dev/null || fail "the same settings are refused"
told slip/b clean "sf.lr=0.1, no.such=1" '1p; /,fg-dqn,/!d'
refused "slip/b/summary.csv:2" "no.such" slip
mkdir hashes
sed '/,sfrql,,2,/s/,0,,\([^,]*\)$/,1f,,\1/' kept-rows/summary.csv >hashes/summary.csv
refused "config_hash 0" "config_hash 1f" "sfrql" hashes

# The paper's values stand beside its own runs only, as long as its figure shows.
published() { # PRESET CHANGED: whether they do
    told paper "$1" "$2"
    "$export_bin" paper -o paper-out >/dev/null
    grep -q '^PAPER = 1' paper-out/figures/reacher_evaluation.gp
}
published compat "train.steps_per_task=30000" || fail "no value of the paper"
! published compat "" || fail "values of the paper beside longer runs"
! published clean "train.steps_per_task=30000" || fail "values of the paper beside another preset"
! published compat "sf.lr=0.1, train.steps_per_task=30000" || fail "values of the paper beside other settings"

# Names: a usual setting that no other arm varies is left out, unless two arms would be called the same.
told cells clean "" '/,fg-dqn,/s/,fg-dqn,,/,sfrql,semi-hard+env.slip=0,/; /,dqn,/d'
"$export_bin" cells -o cells-out >/dev/null
[ "$(cut -d, -f1 cells-out/figures/reacher_scores.csv | sort -u | xargs)" = "fg-sfrql method sfrql sfrql; semi-hard" ] ||
    fail "names: $(cat cells-out/figures/reacher_scores.csv)"
grep -q "^TITLE = 'reacher (cells, clean): " cells-out/figures/reacher_scores.gp || fail "no study in the title"
told cells clean "" '/,fg-dqn,/s/,fg-dqn,,/,sfrql,semi-hard+env.slip=0,/; /,dqn,/s/,dqn,,/,sfrql,semi-hard,/'
"$export_bin" cells -o cells-out >/dev/null
grep -q '^sfrql@semi-hard+env.slip=0,' cells-out/figures/reacher_scores.csv || fail "two arms with one name"
rm -r cells
told maze clean "env.layout=large" 's/^reacher/point_maze/'
"$export_bin" maze -o maze-out >/dev/null
grep -q "^TITLE = 'point_maze_large (clean): " maze-out/figures/point_maze_large_scores.gp || fail "no layout"
grep -q '^A0 (published SFDQN),' "out 1/figures/four_rooms_ablation.csv" || fail "cells without words"

# A line does not bridge a value without runs, and a long title goes on in the next line.
study="a study whose name is so long that it would not fit above the figure, were it written in one line"
mkdir "$study"
cp -r runs/four_rooms/sfrql@*sf.lr_prior=* "$study"
rm -r "$study/sfrql@hard+sf.lr_prior=3e-4"
"$export_bin" "$study" -o gap-out >/dev/null
grep -q '^hard,SF: success,3e-4,2,,,,0$' gap-out/figures/four_rooms_sf.lr_prior.csv || fail "no gap in the line"
grep -q '^HEAD = 17' gap-out/figures/four_rooms_scores.gp || fail "a long title in one line"

# ---- names that gnuplot, CSV and Markdown could trip over ---------------------------------------

$python - <<'PYTHON'
import json, pathlib, shutil
names = ["it's_a^{b}", 'quo"te, comma', "back\\slash|pipe", "50%d @x $y `z`"]
for k in range(8):
    target = pathlib.Path(f"odd/{k}")
    shutil.copytree(f"runs/reacher/dqn/seed-{k % 2}", target)
    run = json.loads((target / "run.json").read_text())
    run["method"], run["env"] = names[k // 2], "an env/with: odd_name"
    (target / "run.json").write_text(json.dumps(run))
PYTHON
"$export_bin" odd -o odd-out >made
[ "$(grep -c '^figure' made)" -ge 6 ] || fail "odd names: $(cat made)"

# ---- the largest seed, and paths that never leave their start --------------------------------------

$python - <<'PYTHON'
import json, pathlib, shutil
for seed in (9007199254740990, 9007199254740991):
    target = pathlib.Path(f"still/{seed}")
    shutil.copytree("runs/reacher/dqn/seed-0", target)
    run = json.loads((target / "run.json").read_text())
    run["env"], run["seed"] = "still", seed
    (target / "run.json").write_text(json.dumps(run))
    path = target / "trajectory.csv"
    rows = [row.split(",") for row in path.read_text().splitlines()]
    path.write_text("\n".join(",".join(r if r[0] == "task" else r[:3] + ["5", "1e9"]) for r in rows) + "\n")
PYTHON
"$export_bin" still -o still-out >made || fail "still: $(cat made)"
grep -q 'figures/still_trajectories' made || fail "no figure of paths: $(cat made)"
grep -q ',9007199254740991,' still-out/tables/still_scores.csv || fail "the seed is not itself"

# ---- little memory: a message, whichever allocation fails -----------------------------------------

limit=30000 # KiB of address space, with which the program starts
until (ulimit -v $limit && exec "$export_bin" --help) >/dev/null 2>&1; do limit=$((limit + 1000)); done
for more in $(seq 7000 400 12000); do
    code=0
    (ulimit -v $((limit + more)) && exec "$export_bin" runs -o tight) >/dev/null 2>err || code=$?
    [ $code = 2 ] || fail "$((limit + more)) KiB: exit code $code, $(cat err)"
done

# ---- an export that is killed ---------------------------------------------------------------------

# begin_export: starts one that is killed when it has begun with its figures.
begin_export() {
    "$export_bin" runs -o killed >/dev/null 2>err &
    pid=$!
    until compgen -G 'killed/.fgsf-export-*/figures/*.svg' >/dev/null; do
        kill -0 $pid 2>/dev/null || fail "ended before its first figure: $(cat err)"
        sleep 0.02
    done
}
for signal in TERM HUP; do # a shell's background job ignores INT
    begin_export
    kill -$signal $pid
    code=0
    wait $pid || code=$?
    [ $code = 130 ] && [ "$(cat err)" = "export: stopped" ] || fail "$signal: $code, $(cat err)"
    [ -z "$(ls -A killed)" ] || fail "$signal leaves $(ls -A killed)"
done
begin_export
kill -KILL $pid
wait $pid 2>/dev/null || true
[ -n "$(ls -A killed)" ] || fail "nothing was left to be removed"
mkdir killed/.fgsf-export-in_use killed/.fgsf-export-other-folder
flock killed/.fgsf-export-in_use "$export_bin" runs/reacher -o killed >/dev/null
[ "$(ls -A killed | xargs)" = ".fgsf-export-in_use .fgsf-export-other-folder figures notebook.ipynb tables" ] ||
    fail "killed: $(ls -A killed)"

# ---- bad input ---------------------------------------------------------------------------------

mkdir kept
echo precious >kept/notebook.ipynb

# bad FILE WORD COMMAND: after COMMAND spoilt FILE of a run, the export must say so and name WORD.
bad() {
    local file=$1 word=$2 code=0
    shift 2
    rm -rf spoilt
    mkdir -p spoilt/reacher/dqn
    cp -r runs/reacher/dqn/seed-0 spoilt/reacher/dqn/
    (cd spoilt/reacher/dqn/seed-0 && "$@")
    "$export_bin" spoilt -o kept >out 2>err || code=$?
    [ $code = 2 ] || fail "$file, $*: exit code $code"
    [ "$(wc -l <err)" = 1 ] || fail "$file, $*: not one line: $(cat err)"
    grep -qF "$file" err && grep -qF -- "$word" err || fail "$file, $*: unclear: $(cat err)"
    [ "$(cat kept/notebook.ipynb)" = precious ] && [ "$(ls -A kept)" = notebook.ipynb ] ||
        fail "$file, $*: the folder was touched"
}
bad run.json "run.json:3" truncate -s 40 run.json
bad run.json "'seed'" sed -i 's/"seed": 0/"seed": -1/' run.json
bad run.json "'seed'" sed -i 's/"seed": 0/"seed": "a"/' run.json
bad run.json "'seed'" sed -i 's/"seed": 0/"seed": 9007199254740992/' run.json
bad run.json "'method'" sed -i '/"method"/d' run.json
bad run.json "'env'" sed -i 's/"env": "reacher"/"env": 7/' run.json
bad run.json "'schema'" sed -i 's,fgsf.run/1,fgsf.run/2,' run.json
bad seed-again "same run" cp -r . ../seed-again
bad train.csv "train.csv:5: column 'cum_reward': 'abc'" \
    sed -i '5s/.*/800,0,80000,abc,1,1,1,1,/' train.csv
bad train.csv "train.csv:5: column 'cum_reward': 'nan'" \
    sed -i '5s/.*/800,0,80000,nan,1,1,1,1,/' train.csv
bad train.csv "train.csv:5: 3 fields" sed -i '5s/.*/1,2,3/' train.csv
bad train.csv "cut short" truncate -s -3 train.csv
bad train.csv "'task_step'" sed -i 's/task_step/step_task/' train.csv
bad train.csv "train.csv:6: column 'task_step'" sed -i '6s/^[^,]*,0,[^,]*,/9,0,1,/' train.csv
bad train.csv "train.csv:3: a control character" sed -i '3s/,/\x00/' train.csv
bad train.csv "occurs twice" sed -i '1s/loss/step/' train.csv
bad eval.csv "not even a header" truncate -s 0 eval.csv
bad eval.csv "eval.csv:3: column 'return'" sed -i '3s/.*/0,1,learned,0,,80,1,1/' eval.csv
bad eval.csv "eval.csv:3: column 'discounted" sed -i '3s/.*/0,1,learned,0,1,80,1,x/' eval.csv
bad eval.csv "eval.csv:3: a quoted field" sed -i '3s/.*/"0,1,learned,0,,80,1/' eval.csv
bad eval.csv "eval.csv" sh -c 'rm eval.csv && mkdir eval.csv'
bad trajectory.csv "'episode'" sed -i '1s/episode/ep/' trajectory.csv
bad policy_map.csv "column 'action': 'x'" \
    sh -c 'printf "task,row,col,action,prior,q\n0,1,1,x,0,1\n" >policy_map.csv'
bad overhead_scaling.csv "overhead_scaling.csv:3: column 'y': '0' is not positive" \
    sh -c 'printf "series,x,y\nbatch,16,1\nbatch,64,0\n" >overhead_scaling.csv'

# A finished run whose file is not the one of its run.json, though every row of it can be read.
seal() {
    $python - <<'PYTHON'
import json
def fnv(data, total=0xcbf29ce484222325):
    for byte in data:
        total = (total ^ byte) * 0x100000001b3 % 2**64
    return total
run, data = json.load(open("run.json")), open("train.csv", "rb").read()
run["files"] = {"train.csv": [f"{len(data)} {fnv(data):016x}"]}
text = json.dumps(run)[1:]
open("run.json", "w").write('{\n"checksum": "%016x",\n' % fnv(text.encode()) + text)
PYTHON
}
seal_and() { seal && "$@"; }
bad train.csv "is not the file that run.json describes" seal_and sed -i '$d' train.csv
bad train.csv "is not the file that run.json describes" seal_and sed -i '5s/1/2/' train.csv
bad train.csv "is not the file that run.json describes" seal_and rm train.csv
bad run.json "files" seal_and sed -i 's/"train.csv": \["/&x/' run.json
bad run.json "checksum" seal_and sed -i 's/"seconds": /&1/' run.json
rm -rf spoilt
cp -r runs/reacher spoilt
(cd spoilt/dqn/seed-0 && seal)
"$export_bin" spoilt -o sealed-out >/dev/null || fail "an undamaged run is refused"

# Rows of a summary that say nothing, or the same as another one.
summary() {
    mkdir -p ../../../copy
    sed "$1" "$work/kept-rows/summary.csv" >../../../summary.csv
    [ $# = 1 ] || cp ../../../summary.csv ../../../copy
}
bad summary.csv ": column 'cum_reward'" summary '/,sfrql,,2,done,0,/s/^\(\([^,]*,\)\{7\}\)[^,]*/\1x/'
bad summary.csv ": column 'seed'" summary '$s/^\(\([^,]*,\)\{3\}\)[^,]*/\1x/'
bad summary.csv "no column 'steps'" summary '1s/,steps/,stages/'
bad summary.csv "same run" summary '' twice
bad summary.csv ": column 'message': 'x'" summary '/,sfrql,,2,done/s/,,\([^,]*\)$/,x,\1/'
bad summary.csv "whole number" summary '/,sfrql,,2,done/s/,2,done/,0.5,done/'

# Runs with other settings in one comparison: between methods, between seeds, and as cells.
settings() { # METHOD SEED CELL
    local target=../../$1${3:+@$3}/seed-$2
    mkdir -p "${target%/*}"
    cp -r . "$target"
    sed -i "s/\"method\": \"dqn\"/\"method\": \"$1\"/; s/\"seed\": 0/\"seed\": $2/
        s/\"cell\": null/\"cell\": \"$3\"/; s/\"sf.lr\"/\"env.slip\": 0.1, \"sf.lr\"/" "$target/run.json"
}
bad "reacher/fg-dqn" "env.slip=0.1" settings fg-dqn 0 ""
bad "reacher/dqn/seed-1" "env.slip=0.1" settings dqn 1 ""
rm -rf cells
mkdir -p cells/reacher/dqn
cp -r runs/reacher/dqn/seed-0 cells/reacher/dqn
(cd cells/reacher/dqn/seed-0 && settings dqn 0 env.slip=0.1)
"$export_bin" cells -o cells-out >/dev/null || fail "cells with other settings are refused"

# A seed that lacks a task which another one has.
missing_task() {
    cp -r . ../seed-1
    sed -i 's/"seed": 0/"seed": 1/' ../seed-1/run.json
    sed -i '/^3,/d' ../seed-1/eval.csv
}
bad eval.csv "no episode of task 3" missing_task

# usage WORD ARGS...: wrong arguments, one line that says WORD. Programs are found in $programs.
programs=$PATH
usage() {
    local word=$1 code=0
    shift
    PATH=$programs "$export_bin" "$@" >out 2>err || code=$?
    [ $code = 2 ] && [ "$(wc -l <err)" = 1 ] && grep -q -- "$word" err ||
        fail "$*: exit code $code, $(cat err)"
}
mkdir empty
touch file
usage "no run.json" empty -o kept
usage "nowhere" nowhere -o kept
usage "OUT" runs
usage "folder of runs" -o kept
usage "unknown flag" runs -o kept --wrong
usage "file" runs -o file/below
"$export_bin" --help | grep -q usage
programs=$work/empty
usage "gnuplot is not installed" runs -o kept
[ "$(ls -A kept)" = notebook.ipynb ] || fail "something is left behind: $(ls -A kept)"

# ---- the notebook; check_python runs it -----------------------------------------------------------

$python -c 'import nbformat' 2>/dev/null || exit 77
$python - <<'PYTHON'
import nbformat
for out, live in (("out 1", True), ("out 3", False)):  # the second was made from a summary alone
    notebook = nbformat.read(f"{out}/notebook.ipynb", as_version=4)
    nbformat.validate(notebook)
    assert (notebook.nbformat, notebook.nbformat_minor) == (4, 5), "not nbformat 4.5"
    images = [o for c in notebook.cells for o in c.get("outputs", []) if "image/png" in o["data"]]
    assert len(images) >= (22 if live else 5), f"only {len(images)} figures are embedded"
    assert any('RUNS = "../runs"' in c.source for c in notebook.cells) == live
PYTHON
