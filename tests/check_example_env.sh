#!/usr/bin/env bash
# The environment of docs/examples, added as the documentation says (a pair of files and one line in
# the registry), compiles without a warning and runs in rollout.
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cp "$FGSF_SOURCE"/docs/examples/corridor.[ch] "$work/"
sed 's/^    X(four_rooms) .*/    X(corridor) \\\n&/' "$FGSF_SOURCE/envs/registry.c" >"$work/registry.c"
[ "$(diff "$FGSF_SOURCE/envs/registry.c" "$work/registry.c" | grep -c '^>')" = 1 ]

# Our registry comes before the archive's, so that this one is linked.
"${CC:-cc}" -std=c11 -O1 -Wall -Wextra -Werror "-I$FGSF_SOURCE/include" "$work/registry.c" \
    "$work/corridor.c" "$FGSF_SOURCE/experiments/rollout.c" "$FGSF_BUILD/libfgsf.a" \
    -lcjson -lm -lpthread -o "$work/rollout"

printf '4\n' >"$work/state"
printf '1\n1\n0\n' >"$work/actions"
"$work/rollout" --env corridor --task 2 --state "$work/state" --actions "$work/actions" --steps 2 \
    >"$work/out"
diff "$work/out" - <<END
t,action,s0,s1,s2,s3,s4,s5,s6,reward,terminal,phi0,phi1
0,1,0,0,0,0,0,1,0,0,0,0,0
1,1,0,0,0,0,0,0,1,-1,1,0,1
END

rows=$("$work/rollout" --env corridor --seed 1 --set env.slip=0.1 --random --steps 1000 | wc -l)
[ "$rows" = 1001 ]
if "$work/rollout" --env corridor --set env.num_tasks=3 --random --steps 1 2>"$work/error"; then
    exit 1
fi
grep -q 'env.num_tasks: 3' "$work/error"
