#!/usr/bin/env bash
# tests/optional/tsan.sh: --threads, and separate trainers in threads of one process, under ThreadSanitizer,
# ggml included. The build takes some minutes, once.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=$root/build/tsan
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$root/third_party/setup" >&2
flags="-O1 -g -fsanitize=thread"
{
    cmake -S "$root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Debug "-DCMAKE_C_FLAGS_DEBUG=$flags" \
        "-DCMAKE_CXX_FLAGS_DEBUG=$flags" -DGGML_NATIVE=OFF -DFGSF_BUILD_TESTS=OFF -DFGSF_OPENBLAS=OFF -DFGSF_MPI=OFF \
        "-DFGSF_GGML_SOURCE_DIR=$root/build/third_party/npm/node_modules/nodejs-whisper/cpp/whisper.cpp/ggml"
    cmake --build "$build" --target four_rooms libfgsf.so libfgsf_envs.so
    cc -std=gnu11 -Wall -Wextra -Werror $flags "-I$root/include" "$root/tests/optional/tsan.c" "-L$build" -lfgsf_envs -lfgsf \
        "-Wl,-rpath,$build" -pthread -o "$work/tsan"
} >"$work/log" 2>&1 || { tail -n 40 "$work/log"; exit 1; }

export TSAN_OPTIONS="halt_on_error=0 exitcode=66"
fixed=(setarch "$(uname -m)" -R) # its shadow memory wants addresses that are not random
"${fixed[@]}" "$work/tsan"
cd "$work"
for threads in 1 2 3; do
    "${fixed[@]}" env PATH=/nowhere "$build/experiments/four_rooms" --methods fg-sfrql,dqn --scale smoke --jobs 1 --threads $threads --quiet --out $threads \
        --set train.steps_per_task=300 --set train.batch_size=256 --set eval.episodes=1 --set eval.horizon=10 >log 2>&1 ||
        { cat log; exit 1; }
    ! grep -q 'ThreadSanitizer' log || { cat log; exit 1; }
    cmp 1/four_rooms/fg-sfrql/seed-0/train.csv $threads/four_rooms/fg-sfrql/seed-0/train.csv
done
echo "tsan: four trainers in four threads, and --threads 1, 2, 3: no race, no difference"
