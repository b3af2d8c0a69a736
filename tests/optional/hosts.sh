#!/usr/bin/env bash
# tests/optional/hosts.sh: sweeps under mpirun over three hosts (root; `third_party/setup --with hosts --with
# mpi`, then `tests/run -N`). A host is a network namespace with its own name, address and sshd; a fourth one
# is the switch between them, so nothing outside is reachable or touched. First nothing happens, then one host
# loses its network, then one is killed. What is left must end in bounded time, --resume must complete the
# sweep, and every byte must be that of a serial run. Takes a few minutes.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=${FGSF_BUILD:-$root/build}
for tool in ip ssh ssh-keygen mpirun unshare; do
    command -v $tool >/dev/null || { echo "hosts: $tool is not installed (third_party/setup --with hosts --with mpi)"; exit 77; }
done
sshd=$(PATH=$PATH:/usr/sbin command -v sshd) || { echo "hosts: sshd is not installed (third_party/setup --with hosts)"; exit 77; }
[ "$(id -u)" = 0 ] || { echo "hosts: needs root"; exit 77; }

work=$(mktemp -d)
name=fgsf$$ # of the namespaces
spaces=()
finish() {
    for space in "${spaces[@]}"; do
        ip netns pids "$space" | xargs -r kill -9 2>/dev/null || true
        ip netns del "$space" 2>/dev/null || true
    done
    wait
    rm -rf "$work"
}
trap finish EXIT
cd "$work"
fail() {
    echo "hosts: $*"
    tail -n 15 log 2>/dev/null || true
    exit 1
}

# ---- three hosts and a switch ----------------------------------------------------------------------

new_space() { ip netns add "$1" && spaces+=("$1") && ip -n "$1" link set lo up; }
inside() { ip netns exec "$name-$1" unshare --uts sh -c 'hostname "$0" && exec "$@"' "host$1" "${@:2}"; }

mkdir -p /run/sshd # sshd wants it
ssh-keygen -q -t ed25519 -N '' -f key
ssh-keygen -q -t ed25519 -N '' -f hostkey
cp key.pub authorized
chmod 700 .
cat >sshd.conf <<CONF
HostKey $work/hostkey
AuthorizedKeysFile $work/authorized
StrictModes no
UsePAM no
PermitRootLogin yes
PasswordAuthentication no
PidFile none
CONF
cat >ssh.conf <<CONF
Host *
    IdentityFile $work/key
    UserKnownHostsFile $work/known
    StrictHostKeyChecking no
    LogLevel ERROR
    ConnectTimeout 10
CONF
new_space "$name-s"
ip -n "$name-s" link add switch type bridge
ip -n "$name-s" link set switch up

start_host() {
    inside "$1" "$sshd" -D -e -f "$work/sshd.conf" 2>>sshd.log &
}
for host in 1 2 3; do
    new_space "$name-$host"
    ip -n "$name-s" link add "port$host" type veth peer name eth0 netns "$name-$host"
    ip -n "$name-s" link set "port$host" master switch up
    ip -n "$name-$host" address add "198.18.77.$host/24" dev eth0
    ip -n "$name-$host" link set eth0 up
    start_host $host
    printf '198.18.77.%d slots=1\n' $host >>machines
done
for host in 2 3; do
    for ((i = 0; i < 50; i++)); do
        inside 1 ssh -F ssh.conf 198.18.77.$host true 2>log && break || sleep 0.2
    done
    [ "$(inside 1 ssh -F ssh.conf 198.18.77.$host hostname)" = host$host ] || fail "no ssh to host$host: $(cat sshd.log)"
done

# ---- sweeps ------------------------------------------------------------------------------------------

mkdir bin
cp "$build/experiments/four_rooms" bin # away from the export tool: figures are not the point
sweep=("$work/bin/four_rooms" --methods dqn,sfrql,fg-sfrql --seeds 2 --scale smoke --set eval.episodes=1
    --set train.steps_per_task=30000 --set train.checkpoint_every=500 --set train.batch_size=16 --set net.hidden=16,16)
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
# Without keepalive mpirun notices a host without network only after minutes.
over_hosts() { # OUT
    inside 1 timeout -k 5 300 mpirun --hostfile machines -n 3 --bind-to none --mca plm_rsh_agent "ssh -F $work/ssh.conf" \
        --mca oob_tcp_keepalive_time 5 --mca oob_tcp_keepalive_intvl 2 --mca oob_tcp_keepalive_probes 3 \
        --mca btl tcp,self --mca orte_tmpdir_base "$work" -x FGSF_MPI_PATIENCE=5 -wdir "$work" \
        "${sweep[@]}" --out "$1" --resume >log 2>&1 </dev/null
}
compare() { # OUT
    local file
    (cd serial && find . -path '*/seed-*' \( -name '*.csv' -o -name policy.gguf \) | sort) >files
    [ "$(wc -l <files)" -ge 18 ] || fail "only $(wc -l <files) files"
    while read -r file; do cmp "serial/$file" "$1/$file" || fail "$1: $file differs"; done <files
}
finished() { cat "$1"/*/*/seed-*/run.json | grep -c '"status": "done"' || true; }
checkpointed() { [ "$(find "$1" -name state.gguf 2>/dev/null | wc -l)" -ge 3 ]; }

"${sweep[@]}" --quiet --out serial >log 2>&1 || fail "serial"

over_hosts whole || fail "three hosts end with $?"
compare whole
grep -q . log || fail "nobody says anything"
echo "hosts: a sweep over three hosts: every byte is that of a serial run"

# disturbed OUT WHAT COMMAND...: runs a sweep, COMMAND in the middle of it.
disturbed() {
    local out=$1 what=$2 code=0 began
    over_hosts "$out" &
    local sweep_pid=$!
    for ((i = 0; i < 600; i++)); do checkpointed "$out" && break || sleep 0.1; done
    checkpointed "$out" || fail "$what: no checkpoint after a minute"
    began=$SECONDS
    "${@:3}"
    wait $sweep_pid || code=$?
    [ $code != 124 ] && [ $code != 137 ] && [ $((SECONDS - began)) -lt 200 ] || fail "$what: $((SECONDS - began)) s, exit code $code"
    echo "hosts: $what: the rest ended after $((SECONDS - began)) s with code $code and $(finished "$out") of 6 runs done"
}
resume() { # OUT
    for ((i = 0; i < 60; i++)); do ip netns pids "$name-3" | xargs -r ps -o comm= -p | grep -q four_rooms && sleep 1 || break; done
    over_hosts "$1" || fail "--resume ends with $?"
    compare "$1"
    [ "$(finished "$1")" = 6 ] || fail "$1: not all runs are done"
    echo "hosts: --resume completed it: every byte is that of a serial run"
}

disturbed cut "host 3 lost its network" ip -n "$name-s" link set port3 down
ip -n "$name-s" link set port3 up
resume cut

kill_host() { ip netns pids "$name-3" | xargs kill -9; }
disturbed killed "host 3 was killed" kill_host
start_host 3
sleep 1
resume killed
