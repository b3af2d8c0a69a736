#!/usr/bin/env bash
# The environment of docs/examples, compiled as the documentation says (a shared object, without a
# warning), is a plugin of the drivers: rollout steps it, train trains on it, and its key is checked.
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

"${CC:-cc}" -std=c11 -O1 -Wall -Wextra -Werror -shared -fPIC "-I$FGSF_SOURCE/include" \
    "$FGSF_SOURCE/docs/examples/corridor.c" -o corridor.so

rollout() { "$FGSF_BUILD/experiments/rollout" --plugin corridor.so --env corridor "$@"; }

printf '4\n' >state
printf '1\n1\n0\n' >actions
rollout --task 2 --state state --actions actions --steps 2 >out
diff out - <<END
t,action,s0,s1,s2,s3,s4,s5,s6,reward,terminal,phi0,phi1
0,1,0,0,0,0,0,1,0,0,0,0,0
1,1,0,0,0,0,0,0,1,-1,1,0,1
END

[ "$(rollout --seed 1 --set env.slip=0.1 --random --steps 1000 | wc -l)" = 1001 ]
[ "$(rollout --set env.cells=4 --random --steps 1 | head -n 1)" = \
    t,action,s0,s1,s2,s3,reward,terminal,phi0,phi1 ]

refuse() { # WORDS ARGUMENTS...: one line on stderr that holds the words
    if rollout "${@:2}" --random --steps 1 2>error; then
        echo "not refused: ${*:2}"
        exit 1
    fi
    grep -qF -- "$1" error && [ "$(wc -l <error)" = 1 ] || {
        echo "expected '$1': $(cat error)"
        exit 1
    }
}
refuse 'env.num_tasks: 3' --set env.num_tasks=3
refuse "env.cells: '2'" --set env.cells=2
refuse 'nowhere.so' --plugin nowhere.so

# The whole of a study: training, evaluation of trained and held-out tasks, files.
"$FGSF_BUILD/experiments/train" --plugin corridor.so --env corridor --methods fg-sfrql --out runs \
    --set train.steps_per_task=300 --set net.hidden=8 >log 2>&1 || {
    cat log
    exit 1
}
grep -q '^corridor,fg-sfrql,,0,done' runs/summary.csv
# The command that it suggests at the end, word for word.
command=$(sed -n '/^Watch what was learned/{n;s/^ *experiments.run //p}' log)
eval "'$FGSF_BUILD/experiments/'$command --steps 1" | grep -q '^corridor  fg-sfrql  task 0' || {
    echo "not to be watched: $command"
    exit 1
}
