#!/usr/bin/env bash
# The live page of a sweep in Chromium: it updates while the sweep runs, shows everything at the end,
# lets no markup through, stays fast with a thousand runs, and nothing is said in the console.
set -euo pipefail

command -v chromium >/dev/null || { echo "no chromium: third_party/setup --with browser"; exit 77; }
grep -q leeoniya/uPlot "$FGSF_BUILD/page.html" || { echo "built without uPlot: third_party/setup"; exit 77; }
bin=$FGSF_BUILD/experiments
work=$(mktemp -d)
pid=
cleanup() {
    [ -z "$pid" ] || kill "$pid" 2>/dev/null || true
    rm -rf "$work"
}
trap cleanup EXIT
cd "$work"
look() { node "$FGSF_SOURCE/tests/browser/page.mjs" "$@"; }

# ---- a sweep that runs, then ends ----------------------------------------------------------------

tiny=(--scale smoke --set train.log_every=20 --set net.hidden=16,16 --set train.batch_size=16
    --methods sfrql,fg-sfrql --seeds 3 --jobs 1 --out out)
"$bin/four_rooms" "${tiny[@]}" --set train.steps_per_task=200000 >log 2>&1 &
pid=$!
for _ in $(seq 100); do [ ! -f out/index.html ] || break; sleep 0.1; done
look running out/index.html
kill -TERM "$pid" # a background job ignores SIGINT
wait "$pid" || true
pid=
grep -q '"state":"stopped"' out/index.html || { echo "an interrupted sweep does not say so"; exit 1; }
[ -z "$(ls out | grep tmp)" ] || { echo "left behind: $(ls out)"; exit 1; }
if command -v gnuplot >/dev/null; then # without --partial there is nothing to draw yet
    "$FGSF_BUILD/notebooks-export/export" out -o drawn >log 2>&1 || { cat log; exit 1; }
    [ -z "$(ls drawn/figures)" ] || { echo "an unfinished run was drawn"; exit 1; }
    "$FGSF_BUILD/notebooks-export/export" out -o drawn --partial >log 2>&1 || { cat log; exit 1; }
    [ "$(grep -Ec '^(fg-)?sfrql,' drawn/figures/four_rooms_cumulative.csv)" -gt 50 ] || { cat log; exit 1; }
fi
rm -rf out
"$bin/four_rooms" "${tiny[@]}" --set train.steps_per_task=200 >log 2>&1 || { cat log; exit 1; }
look done out/index.html

# ---- the terminal beside it: 60 columns are enough, and fewer lines than runs ------------------------

if command -v script >/dev/null; then
    line=$(printf '%q ' env PATH=/nowhere "$bin/four_rooms" "${tiny[@]}" --jobs 6 --out shown \
        --methods sfrql,fg-sfrql-average --set train.steps_per_task=4000 --set env.step_cost=100)
    script -qec "stty cols 100 rows 5; $line" screen >/dev/null </dev/null
    sed 's/\x1b\[[0-9]*[A-Z]//g; s/\r//g' screen >plain
    grep -q '% ret.* loss' plain && grep -q 'ETA' plain || { echo "no progress: $(cat plain)"; exit 1; }
    ! grep -E '% ret|ETA' plain | grep -E '^.{60}' || { echo "wider than 60 columns"; exit 1; }
    ! grep -qE $'\033\\[([5-9]|[0-9]{2,})A' screen || { echo "higher than the terminal"; exit 1; }
fi

# ---- a thousand runs ------------------------------------------------------------------------------

for seed in $(seq 10 1009); do
    run=many/four_rooms/sfrql/seed-$seed
    mkdir -p "$run"
    cp out/four_rooms/sfrql/seed-0/*.csv "$run"
    sed "/^\"checksum\"/d; /^\"files\"/d; s/^\"seed\": 0,/\"seed\": $seed,/; s/\"seed\": 0/\"seed\": $seed/" \
        out/four_rooms/sfrql/seed-0/run.json >"$run/run.json"
done
PATH=/nowhere "$bin/four_rooms" "${tiny[@]}" --methods sfrql --seeds 1 --out many \
    --set train.steps_per_task=200 >log 2>&1 || { cat log; exit 1; }
[ "$(stat -c %s many/index.html)" -lt 3000000 ] || { ls -l many/index.html; exit 1; }
look many many/index.html

# ---- hostile text --------------------------------------------------------------------------------

bad='<img src=x onerror=pwned=1>'
mkdir -p "out/$bad/<b>@\"'&/seed-1" out/four_rooms/sfrql/seed-9 out/four_rooms/broken/seed-0
rm -r out/four_rooms/fg-sfrql out/four_rooms/sfrql/seed-[12]
printf '{"status": "failed",\n"message": "%s</script><script>pwned=1</script>", "config": {"env.map": "%s"}}' \
    "$bad" "$bad" >"out/$bad/<b>@\"'&/seed-1/run.json"
printf '{"status": "done", </script><script>pwned=1</script>' >out/four_rooms/broken/seed-0/run.json
rmdir out/four_rooms/sfrql/seed-9
"$bin/four_rooms" "${tiny[@]}" --methods sfrql --seeds 1 --set train.steps_per_task=200 >log 2>&1 || true
look hostile out/index.html
