#!/usr/bin/env bash
# Fuzzes every tests/fuzz/fuzz_NAME.c for a while with clang's libFuzzer under ASan and UBSan,
# starting from the kept corpus tests/fuzz/corpus/NAME. FGSF_FUZZ_SECONDS sets how long each runs
# (10). An input that fails is kept in FGSF_BUILD/fuzz/found; one worth keeping belongs into the
# corpus.
set -euo pipefail

cc=$(command -v clang-14 || command -v clang) || { echo "clang is not installed"; exit 77; }
cxx=$(command -v clang++-14 || command -v clang++) || { echo "clang++ is not installed"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
printf '%s\n' '#include <stddef.h>' 'int LLVMFuzzerTestOneInput(const char *d, size_t n) {' \
    'return d && n ? 0 : 0; }' >"$work/empty.c"
if ! "$cc" -fsanitize=fuzzer,address,undefined "$work/empty.c" -o "$work/empty" 2>"$work/log"; then
    echo "clang has no libFuzzer (Debian: libclang-rt-14-dev)"
    exit 77
fi

cached() { sed -n "s/^$1:[A-Z]*=//p" "$FGSF_BUILD/CMakeCache.txt"; }

build=$FGSF_BUILD/fuzz
{
    [ -f "$build/build.ninja" ] ||
        (cd "$FGSF_SOURCE" && cmake --preset fuzz -B "$build" "-DCMAKE_C_COMPILER=$cc" \
            "-DCMAKE_CXX_COMPILER=$cxx" "-DFGSF_THIRD_PARTY_DIR=$(cached FGSF_THIRD_PARTY_DIR)")
    names=()
    for source in "$FGSF_SOURCE"/tests/fuzz/fuzz_*.c; do
        name=${source##*/}
        names+=("${name%.c}")
    done
    cmake --build "$build" --target "${names[@]}"
} >"$work/build.log" 2>&1 || { tail -n 50 "$work/build.log"; exit 1; }

mkdir -p "$build/found"
export ASAN_OPTIONS=${ASAN_OPTIONS:-} UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1}
failed=0
for name in "${names[@]}"; do
    corpus=$FGSF_SOURCE/tests/fuzz/corpus/${name#fuzz_}
    [ -d "$corpus" ] || { echo "$name: has no corpus in tests/fuzz/corpus"; failed=1; continue; }
    mkdir "$work/$name" # libFuzzer adds what it finds to the first folder
    if "$build/tests/$name" "-max_total_time=${FGSF_FUZZ_SECONDS:-10}" -timeout=10 -max_len=65536 \
        -rss_limit_mb=2048 -print_final_stats=1 "-artifact_prefix=$build/found/$name-" \
        "$work/$name" "$corpus" >"$work/$name.log" 2>&1; then
        runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$work/$name.log")
        echo "$name: $runs inputs, nothing found"
    else
        echo "$name: failed"
        tail -n 60 "$work/$name.log"
        failed=1
    fi
done
exit "$failed"
