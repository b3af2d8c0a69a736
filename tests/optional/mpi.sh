#!/usr/bin/env bash
# Sweeps under mpirun: four ranks leave the same bytes as a serial run; a job that is killed costs its
# rank nothing; a rank that is killed costs its job, which --resume brings back; two sweeps share one
# OUT. Skipped without mpirun or in a build without MPI.
#
# Not part of tests/run: it looks at which job ends when, and on an idle machine it failed that way once in
# seven runs and once did not end within 100 s. FGSF_BUILD names the build folder (default: build).
set -euo pipefail
FGSF_BUILD=${FGSF_BUILD:-$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)/build}

command -v mpirun >/dev/null || exit 77
# Read whole before it is searched: grep -q in a pipe ends early, and what writes to it may then fail.
libraries=$(ldd "$FGSF_BUILD/experiments/four_rooms" 2>/dev/null || true)
grep -q 'libmpi\.so' <<<"$libraries" || exit 77

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
mkdir bin
cp "$FGSF_BUILD/experiments/four_rooms" bin # away from the export tool: figures are not the point

ranks=(mpirun -n 4)
version=$(mpirun --version)
if grep -q 'Open MPI' <<<"$version"; then # more ranks than cores, and CI is often root
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    ranks=(mpirun --oversubscribe --bind-to none -n 4)
fi
sweep=(bin/four_rooms --methods dqn,sfrql,fg-sfrql --seeds 2 --scale smoke --set eval.episodes=1
    --set train.steps_per_task=150 --set train.checkpoint_every=50)

fail() {
    echo "mpi: $*"
    exit 1
}

same_runs() {
    local file
    (cd "$1" && find . -name train.csv -o -name eval.csv -o -name policy.gguf | sort) >files
    [ "$(wc -l <files)" = 18 ] || fail "$1 has $(wc -l <files) files of results, not 18"
    while read -r file; do
        cmp "$1/$file" "$2/$file" || fail "$file differs"
    done <files
}

# wait_for SECONDS COMMAND...: until the command succeeds.
wait_for() {
    local end=$((SECONDS + $1))
    shift
    until "$@"; do
        [ $SECONDS -lt $end ] || fail "this never came true: $*"
        sleep 0.05
    done
}

# The process that runs a job: the child of a child of a rank; the rank: a child of mpirun.
child_of() { pgrep -P "$1" -o; }
checkpointed() { compgen -G "$1/four_rooms/*/seed-*/state.gguf" >/dev/null; }

"${sweep[@]}" --jobs 1 --out serial 2>/dev/null

# Four ranks: every job once, on more than one rank, the long ones first, the same bytes.
"${ranks[@]}" "${sweep[@]}" --out four 2>log || fail "four ranks: $(cat log)"
[ "$(grep -c '^done ' log)" = 6 ] || fail "not six runs: $(cat log)"
[ "$(grep -o 'rank [0-3]' log | sort -u | wc -l)" -ge 3 ] || fail "ranks were idle: $(cat log)"
grep '^done ' log | tail -2 | grep -q dqn ||
    fail "the cheapest jobs did not come last: $(cat log)"
same_runs serial four

# Bad input at rank 0 ends all ranks; a finished OUT is left as it is.
! timeout 60 "${ranks[@]}" "${sweep[@]}" --set sf.lr=0.5 --out four 2>log || fail "was not refused"
grep -q sf.lr log || fail "the key is not named: $(cat log)"
same_runs serial four

long=("${sweep[@]/train.steps_per_task=150/train.steps_per_task=500}")
"${long[@]}" --jobs 2 --out long-serial 2>/dev/null

# A killed job: its rank goes on, everything else is done, the run says that it failed.
"${ranks[@]}" "${long[@]}" --out job 2>log &
mpirun=$!
wait_for 60 checkpointed job
rank=$(child_of $mpirun)
kill -9 "$(child_of "$(child_of "$rank")")"
! wait $mpirun || fail "a killed job went unnoticed: $(cat log)"
[ "$(grep -c '^done ' log)" = 5 ] || fail "not five runs: $(cat log)"
grep -q '^FAILED .*killed by signal 9' log || fail "no word about the killed job: $(cat log)"
"${ranks[@]}" "${long[@]}" --out job --resume 2>log || fail "resuming: $(cat log)"
same_runs long-serial job

# A killed rank. mpirun ends the others, or lets them go on where it can; nothing that was finished
# is lost, and --resume does the rest.
for recovery in "" --enable-recovery; do
    [ -z "$recovery" ] || grep -q 'Open MPI' <<<"$version" || continue
    FGSF_MPI_PATIENCE=3 timeout 120 "${ranks[@]:0:1}" $recovery "${ranks[@]:1}" "${long[@]}" \
        --out "rank$recovery" 2>log &
    waiting=$!
    wait_for 60 checkpointed "rank$recovery"
    mpirun=$(child_of $waiting)
    kill -9 "$(pgrep -P "$mpirun" | tail -1)"
    wait $waiting || true
    if [ -n "$recovery" ]; then
        [ "$(grep -c '^done ' log)" = 5 ] || fail "the sweep did not go on: $(cat log)"
        grep -q 'silent for 3 s' log || fail "no word about the lost rank: $(cat log)"
        [ -s "rank$recovery/summary.csv" ] || fail "no summary without the lost rank"
    fi
    "${ranks[@]}" "${long[@]}" --out "rank$recovery" --resume 2>log || fail "resuming: $(cat log)"
    same_runs long-serial "rank$recovery"
done

# Two sweeps at once on one OUT.
"${ranks[@]}" "${sweep[@]}" --out shared 2>first &
"${ranks[@]}" "${sweep[@]}" --out shared 2>second || fail "the second sweep: $(cat second)"
wait $! || fail "the first sweep: $(cat first)"
same_runs serial shared
