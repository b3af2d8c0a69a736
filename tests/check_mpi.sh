#!/usr/bin/env bash
# Sweeps under mpirun: four ranks leave the same bytes as a serial run; a job that is killed costs its
# rank nothing; a rank that is killed costs its job, which --resume brings back; without rank 0 the
# others end; two sweeps share one OUT. Skipped without Open MPI's mpirun or in a build without MPI.
set -euo pipefail

version=$(mpirun --version 2>/dev/null) || exit 77
[[ $version == *'Open MPI'* ]] || exit 77
libraries=$(ldd "$FGSF_BUILD/experiments/four_rooms" 2>/dev/null || true)
[[ $libraries == *libmpi.so* ]] || exit 77

work=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; wait; rm -rf "$work"' EXIT
cd "$work"
mkdir bin
cp "$FGSF_BUILD/experiments/four_rooms" bin # away from the export tool: figures are not the point
exec </dev/null

# More ranks than cores, often as root. No sweep here takes a minute; one that hangs ends after two.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 FGSF_MPI_PATIENCE=3
# What killed ranks leave behind goes with the folder, not to stay in shared memory.
export OMPI_MCA_btl_vader_backing_directory=$work OMPI_MCA_orte_tmpdir_base=$work
ranks=(timeout -k 5 120 mpirun --oversubscribe --bind-to none -n 4)
sweep=("$work/bin/four_rooms" --methods dqn,sfrql,fg-sfrql --seeds 2 --scale smoke
    --set eval.episodes=1 --set train.steps_per_task=200 --set train.checkpoint_every=50)

fail() {
    echo "mpi: $*"
    exit 1
}

same_runs() {
    local file
    (cd "$1" && find . -name train.csv -o -name eval.csv -o -name policy.gguf | sort) >files
    [ "$(wc -l <files)" = 18 ] || fail "$1 has $(wc -l <files) files of results, not 18"
    while read -r file; do
        cmp "serial/$file" "$1/$file" || fail "$file differs"
    done <files
}

# wait_for COMMAND...: until the command succeeds.
wait_for() {
    local end=$((SECONDS + 60))
    until "$@"; do
        [ $SECONDS -lt $end ] || fail "this never came true: $* ($(cat log))"
        sleep 0.05
    done
}

# Ranks are the children of mpirun, which is timeout's; a job is the child of a rank's child.
rank_of() { tr '\0' '\n' <"/proc/$1/environ" | sed -n 's/^OMPI_COMM_WORLD_RANK=//p'; }
all_ranks() { pgrep -P "$(pgrep -P "$started")"; }
nobody_left() { ! pgrep -f "^$work/bin/four_rooms" >/dev/null; }
checkpointed() { compgen -G "$1/four_rooms/*/seed-*/state.gguf" >/dev/null; }

# Stops a job of a rank other than the first, so that it does not end meanwhile; sets job and rank.
stop_a_job() {
    for rank in $(all_ranks); do
        [ "$(rank_of "$rank")" != 0 ] && job=$(pgrep -P "$(pgrep -P "$rank")") || continue
        kill -STOP "$job" && sleep 0.1 && [[ $(ps -o stat= -p "$job") == T* ]] && return
    done 2>/dev/null
    return 1
}

# begin OUT [MPIRUN OPTION]: a sweep in the background that has written a first checkpoint.
begin() {
    "${ranks[@]}" "${@:2}" "${sweep[@]}" --out "$1" 2>log &
    started=$!
    wait_for checkpointed "$1"
}

resume() {
    wait_for nobody_left # killed processes may outlive mpirun for a moment
    "${ranks[@]}" "${sweep[@]}" --out "$1" --resume 2>log || fail "resuming: $(cat log)"
    same_runs "$1"
}

"${sweep[@]}" --jobs 2 --out serial 2>/dev/null

# The variables of mpirun without mpirun: a message, not a run that never ends.
code=0
OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_RANK=0 timeout -k 5 60 "${sweep[@]}" --out alone 2>log || code=$?
[ $code = 2 ] && grep -q 'speaks of 4 MPI ranks, but MPI has 1' log ||
    fail "ranks without mpirun: exit code $code, $(cat log)"

# Four ranks: every job once, on more than one rank, the long ones first, the same bytes.
"${ranks[@]}" "${sweep[@]}" --out four 2>log || fail "four ranks: $(cat log)"
[ "$(grep -c '^done ' log)" = 6 ] || fail "not six runs: $(cat log)"
[ "$(grep -o 'rank [0-3]' log | sort -u | wc -l)" -ge 2 ] || fail "ranks were idle: $(cat log)"
[ "$(grep '^start ' log | tail -2 | cut -c8-10 | xargs)" = "dqn dqn" ] ||
    fail "the cheapest jobs were not started last: $(cat log)"
same_runs four

# Bad input at rank 0 ends all ranks; a finished OUT is left as it is.
! "${ranks[@]}" "${sweep[@]}" --set sf.lr=0.5 --out four 2>log || fail "was not refused"
grep -q sf.lr log || fail "the key is not named: $(cat log)"
same_runs four

# A killed job: its rank goes on, everything else is done, the run says that it failed.
begin job
wait_for stop_a_job
kill -9 "$job"
! wait "$started" || fail "a killed job went unnoticed: $(cat log)"
[ "$(grep -c '^done ' log)" = 5 ] || fail "not five runs: $(cat log)"
grep -q '^FAILED .*killed by signal 9' log || fail "no word about the killed job: $(cat log)"
resume job

# A killed rank, and mpirun ends the others: nothing that was finished is lost.
begin rank
wait_for stop_a_job
kill -9 "$rank"
! wait "$started" || fail "a killed rank went unnoticed: $(cat log)"
resume rank

# A killed rank, and the others go on.
begin others --enable-recovery
wait_for stop_a_job
kill -9 "$rank"
wait "$started" || true
[ "$(grep -c '^done ' log)" = 5 ] || fail "the sweep did not go on: $(cat log)"
grep -q 'silent for 3 s' log || fail "no word about the lost rank: $(cat log)"
[ -s others/summary.csv ] || fail "no summary without the lost rank"
resume others

# Rank 0 is killed: the others notice and end.
begin first --enable-recovery
for rank in $(all_ranks); do [ "$(rank_of "$rank")" != 0 ] || kill -9 "$rank"; done
wait "$started" || true # under --enable-recovery mpirun may say 0
[ "$(grep -c 'rank 0 is silent' log)" = 3 ] || fail "not three ranks noticed: $(cat log)"
resume first

# Two sweeps at once on one OUT.
"${ranks[@]}" "${sweep[@]}" --out shared 2>one &
"${ranks[@]}" "${sweep[@]}" --out shared 2>two || fail "the second sweep: $(cat two)"
wait $! || fail "the first sweep: $(cat one)"
same_runs shared
