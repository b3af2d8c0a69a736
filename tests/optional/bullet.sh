#!/usr/bin/env bash
# Reacher's `bullet` dynamics against Bullet 3 (Debian package libbullet-dev): within 1e-6 rad over 600
# random steps, and with the shoulder at its speed limit while the elbow meets its own.
#
#   tests/optional/bullet.sh
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cc -O2 -ffp-contract=off "-I$root/include" "-I$root/src" "-I$root/envs" -c "$root/envs/reacher_arm.c" \
    -o "$work/arm.o"
cc -O2 "-I$root/include" -c "$root/src/number.c" -o "$work/number.o"
c++ -O2 -DBT_USE_DOUBLE_PRECISION -I/usr/include/bullet "$root/tests/optional/bullet.cpp" "$work/arm.o" \
    "$work/number.o" -lBulletDynamics-float64 -lBulletCollision-float64 -lLinearMath-float64 -lm \
    -o "$work/bullet"
for how in 0 1 2; do "$work/bullet" $how 600; done
