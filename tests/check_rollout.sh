#!/usr/bin/env bash
# The command line of rollout: its columns and digits, restarts after a terminal step, the same bytes
# for the same seed, and bad input that ends with exit code 2 and one line.
set -euo pipefail

rollout=$FGSF_BUILD/experiments/rollout
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

fail() {
    echo "rollout: $*"
    exit 1
}

# Two steps below the goal, then on: the row after the terminal one starts at the start cell.
printf '0 11 0 0 0 0 0 0 0 0 0 0 0 0\n' >state
printf '2\n1\n' >actions
"$rollout" --env four_rooms --task 0 --seed 1 --state state --actions actions >out
[ "$(wc -l <out)" = 3 ] || fail "three lines were expected"
[ "$(sed -n 1p out | cut -d, -f1-3,40-)" = "t,action,s0,s37,reward,terminal,phi0,phi1,phi2,phi3" ] ||
    fail "unexpected header: $(sed -n 1p out)"
[ "$(sed -n 2p out | cut -d, -f1-3,28,41-)" = "0,2,1,1,1,1,0,0,0,1" ] || fail "$(sed -n 2p out)"
[ "$(sed -n 3p out | cut -d, -f1,2,14,16,41-)" = "1,1,1,1,0,0,0,0,0,0" ] || fail "$(sed -n 3p out)"

"$rollout" --env four_rooms --seed 7 --set env.slip=0.2 --random --steps 3000 >one
"$rollout" --env four_rooms --seed 7 --set env.slip=0.2 --random --steps 3000 >two
"$rollout" --env four_rooms --seed 8 --set env.slip=0.2 --random --steps 3000 >three
cmp one two
! cmp -s one three || fail "two seeds gave the same rows"

if "$rollout" --env reacher --random --steps 0 >/dev/null 2>&1; then
    for arguments in "--env reacher" "--env point_maze --preset compat"; do
        "$rollout" $arguments --seed 3 --random --steps 500 >one
        "$rollout" $arguments --seed 3 --random --steps 500 >two
        cmp one two
        # 17 significant digits give every double back: printing what was read changes nothing.
        grep -Eq ',-?0?\.?[0-9.]{16,}' one || fail "fewer than 17 digits"
    done
fi

refuse() { # EXPECTED ARGUMENTS...
    local expected=$1 code=0
    shift
    "$rollout" "$@" >out 2>error || code=$?
    [ $code = 2 ] || fail "exit code $code, not 2: $*"
    [ "$(wc -l <error)" = 1 ] || fail "not one line: $(cat error)"
    [ ! -s out ] || fail "a table was printed: $*"
    grep -qF -- "$expected" error || fail "'$expected' is not in: $(cat error)"
}
run=(--env four_rooms --random --steps 1)
refuse "--env is missing"
refuse "no_such" --env no_such --random --steps 1
refuse "env.slpi" "${run[@]}" --set env.slpi=1
refuse "env.slip" "${run[@]}" --set env.slip=2
refuse "env.slip" "${run[@]}" --set env.slip
refuse "task 16" "${run[@]}" --task 16
refuse "'x'" "${run[@]}" --seed x
refuse "--steps" --env four_rooms --random
refuse "either" --env four_rooms --random --actions actions
refuse "--wrong" "${run[@]}" --wrong 1
refuse "missing.txt" --env four_rooms --actions missing.txt
refuse "missing.txt" "${run[@]}" --state missing.txt
refuse "more steps" --env four_rooms --actions actions --steps 3
refuse "use --seed" "${run[@]}" --set seed=5
refuse "use --preset" "${run[@]}" --set preset=compat
refuse "use --env" "${run[@]}" --set env.name=reacher
refuse "--task" "${run[@]}" --task 99999999999
# Lines that are no action are refused, not read as several or as their beginning.
printf '%080d\n' 1 >actions
refuse "actions:1:" --env four_rooms --actions actions
printf '1\0002\n' >actions
refuse "actions:1:" --env four_rooms --actions actions
printf '1\r2\r3' >actions
refuse "actions:1:" --env four_rooms --actions actions
printf '1\r\n\r\n2' >actions
[ "$("$rollout" --env four_rooms --actions actions | wc -l)" = 3 ] || fail "two actions with CRLF"
printf '1\n4\n' >actions
refuse "actions:2: action '4'" --env four_rooms --actions actions
printf '0 6 0 0 0 0 0 0 0 0 0 0 0 0\n' >state
refuse "(0, 6) is not a free cell" "${run[@]}" --state state
printf '0 0\n' >state
refuse "2 numbers" "${run[@]}" --state state
for text in '0 zero' '0 -' '0 0x' '0 1e' '0 0;0' '0,,0' "0 $(printf '%070d' 0)"; do
    printf '%s' "$text" >state
    refuse "not a list of numbers" "${run[@]}" --state state
done
printf '12, 0,0 0 0 0,0\r\n0 0 0 0 0 0 0\n' >state
"$rollout" "${run[@]}" --state state >/dev/null || fail "commas, blanks and lines are all fine"
printf '_.\n' >map
refuse "no goal" "${run[@]}" --set env.map=map
"$rollout" --help | grep -q usage

# A model that cannot be written leaves nothing behind.
if "$rollout" --env point_maze --random --steps 0 >/dev/null 2>&1; then
    mkdir temporary
    error=$(trap '' XFSZ; ulimit -f 0; TMPDIR=$work/temporary "$rollout" --env point_maze --random \
        --steps 1 2>&1) && fail "a model of 0 bytes was read"
    [[ $error == *"cannot write"* ]] || fail "$error"
    [ -z "$(ls temporary)" ] || fail "left behind: $(ls temporary)"
fi
