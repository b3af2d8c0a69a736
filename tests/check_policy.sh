#!/usr/bin/env bash
# A policy as one header acts as the library does, on 10,000 random states and rewards: freestanding, and
# also on ARM where the tools are there (third_party/setup --with arm). Rewards that are typed are acted on.
set -euo pipefail

bin=$FGSF_BUILD/experiments
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
fail() { echo "policy: $*"; exit 1; }

cat >act.c <<'C'
#include "policy.h"
int act(const float *state, const float *w);
int act(const float *state, const float *w) { return policy_act(state, w); }
C
cat >cases.c <<'C'
#include <stdio.h>
#include "policy.h"
int act(const float *state, const float *w);
int main(void) {
    float gap, state[POLICY_STATE], w[POLICY_WEIGHTS];
    int wanted, cases = 0, wrong = 0, read = 1;
    while (scanf("%d %f", &wanted, &gap) == 2) {
        for (int i = 0; i < POLICY_STATE; i++) read &= scanf("%f", &state[i]) == 1;
        for (int i = 0; i < POLICY_WEIGHTS; i++) read &= scanf("%f", &w[i]) == 1;
        wrong += act(state, w) != wanted && gap >= 1e-5f;
        cases++;
    }
    printf("%d cases, %d wrong\n", cases, wrong);
    return !read || wrong || cases != 10000;
}
C

tiny=(--scale smoke --set train.steps_per_task=600 --set net.hidden=24,16 --set train.batch_size=16
    --set eval.episodes=1 --set eval.horizon=20 --quiet)
for kind in psi xi; do
    PATH=/nowhere "$bin/four_rooms" "${tiny[@]}" --methods fg-sfrql --set representation=$kind --out $kind \
        >log 2>&1 || fail "$(cat log)"
    policy=$kind/four_rooms/fg-sfrql/seed-0/policy.gguf
    "$bin/export_policy" "$policy" -o policy.h --cases 10000 || fail "not exported"
    gcc -std=c99 -pedantic -ffreestanding -O2 -Wall -Wextra -Werror -c act.c
    [ -z "$(nm -u act.o)" ] || fail "needs $(nm -u act.o)"
    gcc -std=c99 -O2 -w cases.c act.o -o cases
    ./cases <policy.h.cases >log || fail "$kind: $(cat log)"
    if command -v arm-linux-gnueabihf-gcc >/dev/null && command -v qemu-arm >/dev/null; then
        arm-linux-gnueabihf-gcc -std=c99 -ffreestanding -O2 -Wall -Werror -c act.c -o arm.o
        arm-linux-gnueabihf-gcc -std=c99 -O2 -w -static cases.c arm.o -o arm
        qemu-arm ./arm <policy.h.cases >log || fail "$kind on ARM: $(cat log)"
        echo "$kind on ARM: $(cat log)"
    fi
done

# A path that has no room for ".cases" is refused; nothing else is written instead.
cp policy.h before.h
for length in 4091 4095; do
    long=.$(printf '%*s' $((length - 9)) '' | tr ' ' /)policy.h
    ! "$bin/export_policy" "$policy" -o "$long" --cases 2 2>log || fail "$length bytes are accepted"
    grep -q 'too long' log && cmp policy.h before.h && [ ! -e policy.h.cas ] || fail "$length: $(cat log)"
done

# ---- typed rewards -------------------------------------------------------------------------------

watch() { "$bin/watch" "$1/four_rooms/fg-sfrql/seed-0/policy.gguf" --plain --episodes 3 --reward "$2" >out 2>log; }
refuse() { # KIND REWARD WORDS
    ! watch "$1" "$2" || fail "'$2' was accepted"
    grep -qF -- "$3" log || fail "'$2': '$3' is not in: $(cat log)"
}
# The same reward as weights and as a formula is the same behaviour and return.
for kind in psi xi; do
    watch $kind "1,-0.5,2,1" || fail "$(cat log)"
    grep '^episode' out >weights
    tail -1 out | grep -q '^reward .*: mean return .* of 3 episodes$' || fail "no mean: $(tail -1 out)"
    watch $kind "phi0 - phi1/2 + 2*phi2 + phi3" || fail "$(cat log)"
    grep '^episode' out | cmp - weights || fail "$kind: the formula acts otherwise than its weights"
done
watch psi "1 + phi0*phi1" || fail "$(cat log)"
grep -q 'not linear in the features.*root mean squared error' log || fail "no error of the fit: $(cat log)"
watch xi "1 + phi0*phi1" && [ ! -s log ] || fail "xi can express it: $(cat log)"
# A set of prototypes that is too coarse rounds the reward, and that is said.
PATH=/nowhere "$bin/four_rooms" "${tiny[@]}" --methods fg-sfrql --set representation=xi --out coarse \
    --set sf.xi_set=prototypes --set sf.xi_max_centers=2 >log 2>&1 || fail "$(cat log)"
watch coarse "phi0 - phi1" || fail "$(cat log)"
grep -q 'xi has met [12] feature vectors.*root mean squared error 0\.' log || fail "no error: $(cat log)"
refuse psi "1,2" "4 weights"
refuse psi "phi4" "no such feature"
refuse psi "1/phi0" "'1/phi0': is not finite"
refuse xi "1/phi0" "'1/phi0': is not finite"
refuse psi "1e300,0,0,0" "is not finite"
refuse xi "2*(phi0" "')' is missing"
refuse xi "$(printf '%0100d' 0 | tr 0 '(')phi0" "nested too deeply"
