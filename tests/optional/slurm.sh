#!/usr/bin/env bash
# tests/optional/slurm.sh: the scripts of docs/cluster.md on a Slurm of one node, which this starts and ends
# (root; `third_party/setup --with slurm --with mpi`, then `tests/run -N`). The MPI script is stopped before
# the end of its time and requeues itself, one part of the array is stopped and requeues itself, a job that
# waits for the array draws. All bytes must be those of a run without Slurm. Takes a few minutes.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=${FGSF_BUILD:-$root/build}
for tool in munged slurmctld slurmd sbatch mpirun; do
    command -v $tool >/dev/null || { echo "slurm: $tool is not installed (third_party/setup --with slurm --with mpi)"; exit 77; }
done
[ "$(id -u)" = 0 ] || { echo "slurm: needs root"; exit 77; }

work=$(mktemp -d)
started=()
finish() {
    scancel --user root 2>/dev/null || true
    sleep 1
    kill "${started[@]}" 2>/dev/null || true
    wait
    rm -rf "$work"
}
trap finish EXIT
cd "$work"
chmod 755 .
fail() {
    echo "slurm: $*"
    tail -n 5 ./*.out ./*.log 2>/dev/null || true
    exit 1
}
wait_for() { # SECONDS COMMAND...
    local end=$((SECONDS + $1))
    until "${@:2}"; do
        [ $SECONDS -lt $end ] || fail "this never came true: ${*:2}"
        sleep 1
    done
}

# ---- one node ------------------------------------------------------------------------------------

host=$(hostname -s)
mkdir -m 700 munge state spool
head -c 1024 /dev/urandom >munge/key
chmod 400 munge/key
munged --force --foreground --key-file="$work/munge/key" --socket="$work/munge/socket" \
    --pid-file="$work/munge/pid" --log-file="$work/munge/log" --seed-file="$work/munge/seed" >munge.log 2>&1 &
started+=($!)
# A requeued job waits for cred_expire seconds. More CPUs than there are, so that jobs do not queue here.
cat >slurm.conf <<CONF
ClusterName=fgsf
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthInfo=socket=$work/munge/socket,cred_expire=5
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/spool
SlurmctldPidFile=$work/slurmctld.pid
SlurmdPidFile=$work/slurmd.pid
SlurmctldPort=16817
SlurmdPort=16818
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
ReturnToService=2
MpiDefault=none
KillWait=10
SchedulerParameters=batch_sched_delay=0,sched_interval=2
NodeName=$host NodeAddr=127.0.0.1 CPUs=8 RealMemory=8000 State=UNKNOWN
PartitionName=all Nodes=$host Default=YES MaxTime=INFINITE State=UP
CONF
export SLURM_CONF=$work/slurm.conf
wait_for 20 test -S munge/socket
slurmctld -D -c -i >slurmctld.log 2>&1 &
started+=($!)
slurmd -D >slurmd.log 2>&1 &
started+=($!)
is_idle() { sinfo -h -o %T 2>/dev/null | grep -q idle; }
wait_for 60 is_idle

# ---- the scripts of the page, with shorter runs -----------------------------------------------------

runs="--cells B0,B1,C1 --scale smoke --set train.steps_per_task=60000 --set train.checkpoint_every=1000
    --set train.batch_size=16 --set net.hidden=16,16 --set eval.episodes=2"
runs=${runs//$'\n'/ }
script() { # WORD OUT CHANGE...: the block of the page that has the word
    awk -v word="$1" '/^```/ { if (block ~ word && block ~ /#SBATCH/) printf "%s", block; block = ""; next }
        { block = block $0 "\n" }' "$root/docs/cluster.md" |
        sed "s|build/experiments|$build/experiments|; s|/shared/ablation|$2|; s|--seeds 30|$runs|" | sed "${@:3}"
}
script mpi=pmix "$work/mpi" -e 's/--ntasks=64/--ntasks=3/; s/--time=[0-9:]*/--time=1/; s/TERM@60/TERM@55/' >mpi.sh
script --array= "$work/array" -e 's/--array=1-100/--array=1-3/' >array.sh
script --array= "$work/array" -e 's/--array=1-100 //; s/--cell [^&]*&/\&/' >draw.sh
for part in mpi array draw; do [ "$(grep -c SBATCH $part.sh)" = 2 ] || fail "$part: $(cat $part.sh)"; done

"$build/experiments/gradient_ablation" $runs --quiet --out serial >serial.log 2>&1 || fail "serial: $(cat serial.log)"
compare() { # OUT
    local file
    (cd serial && find . -path '*/seed-*' \( -name '*.csv' -o -name policy.gguf \) | sort) >files
    [ "$(wc -l <files)" -ge 9 ] || fail "only $(wc -l <files) files"
    while read -r file; do cmp "serial/$file" "$1/$file" || fail "$1: $file differs"; done <files
}
gone() { [ -z "$(squeue -h -j "$1" 2>/dev/null)" ]; }

# MPI: stopped by the time limit, requeued by the script, as often as needed.
job=$(sbatch --parsable --output=mpi.out mpi.sh)
wait_for 600 gone "$job"
compare mpi
stops=$(grep -c 'with --resume goes on' mpi.out) || fail "the job was never stopped before its end"
[ -e mpi/summary.csv ] && [ -d mpi/export/figures ] || fail "rank 0 did not draw"
echo "slurm: srun --mpi=pmix with 3 ranks, stopped and requeued $stops times: every byte is that of a serial run"

# An array; its first part is told to stop, as --signal=B:TERM does, and requeues itself.
job=$(sbatch --parsable --output=array-%a.out array.sh)
last=$(sbatch --parsable --output=draw.out --dependency="afterany:$job" draw.sh)
checkpoint() { compgen -G "array/*/*/seed-0/state.gguf" >/dev/null; }
wait_for 120 checkpoint
scancel --signal=TERM --batch "${job}_1"
stopped() { grep -qs 'with --resume goes on' array-1.out; }
wait_for 120 stopped
wait_for 600 gone "$job"
wait_for 300 gone "$last"
compare array
[ -d array/export/figures ] || fail "the last job did not draw"
echo "slurm: an array of 3, a part stopped and requeued, figures by a job after it: every byte is that of a serial run"
