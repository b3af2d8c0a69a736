#!/usr/bin/env bash
# The library builds, installs and passes its own tests without MuJoCo, OpenBLAS and gnuplot. The longest
# tests, which the other build runs, are left out.
set -euo pipefail

build=$FGSF_BUILD/bare
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
quietly() { "$@" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }; }

quietly cmake -S "$FGSF_SOURCE" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DFGSF_MUJOCO=OFF \
    -DFGSF_OPENBLAS=OFF -DFGSF_MPI=OFF -DFGSF_BUILD_EXPERIMENTS=OFF
quietly cmake --build "$build"
quietly cmake --install "$build" --prefix "$work/prefix"
for library in $(find "$work/prefix" -name '*.so'); do
    if readelf -d "$library" | grep -i 'NEEDED.*\(mujoco\|blas\)'; then
        echo "$library links it"
        exit 1
    fi
done

mkdir "$work/bin" # a PATH without gnuplot
for tool in bash sh rm cp mkdir cat sed grep ls wc sort head tail awk find mv touch chmod; do ln -s "$(command -v $tool)" "$work/bin"; done
ctest=$(command -v ctest)
PATH=$work/bin quietly "$ctest" --test-dir "$build" --output-on-failure --no-tests=error \
    -R '^(test_|fuzz_)' -E '^test_(resume|learning|memory|trainer_allocation)$'
tail -n 5 "$work/log"
