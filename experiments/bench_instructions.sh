#!/usr/bin/env bash
# Counts the instructions of the hot paths with callgrind; compares them with the committed table.
#
#   experiments/bench_instructions.sh             compare; exit code 1 when a path grew over 2 %
#   experiments/bench_instructions.sh --update    write docs/instructions.csv
#   experiments/bench_instructions.sh PATH...     only these paths (bench_instructions --list)
#
# Valgrind knows AVX2 but not AVX-512, so this has a build of its own, ggml included, for the level
# x86-64-v3. Counts then depend on the sources and the compiler, not on the machine; they repeat exactly.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=${FGSF_INSTRUCTIONS_BUILD:-$root/build/instructions}
ggml=$root/build/third_party/npm/node_modules/nodejs-whisper/cpp/whisper.cpp/ggml
table=$root/docs/instructions.csv
limit=2

die() { printf 'bench_instructions: %s\n' "$*" >&2; exit 2; }

command -v valgrind >/dev/null || die "valgrind is missing (Debian package valgrind)"
[ -d "$ggml" ] || "$root/third_party/setup" >&2

update=no
paths=()
for argument in "$@"; do
    case $argument in
    --update) update=yes ;;
    -h | --help) sed -n '2,/^set /{/^set /!s/^# \{0,1\}//p}' "$0"; exit 0 ;;
    -*) die "unknown flag '$argument'" ;;
    *) paths+=("$argument") ;;
    esac
done
[ $update = no ] || [ ${#paths[@]} -eq 0 ] || die "--update counts all paths"

mkdir -p "$build"
{
    cmake -S "$root" -B "$build" -DCMAKE_BUILD_TYPE=Release -DFGSF_NATIVE=OFF -DFGSF_WERROR=OFF \
        -DFGSF_BUILD_TESTS=OFF -DFGSF_MPI=OFF -DFGSF_GGML_SOURCE_DIR="$ggml" -DGGML_NATIVE=OFF \
        -DGGML_SSE42=ON -DGGML_AVX=ON -DGGML_AVX2=ON -DGGML_FMA=ON -DGGML_F16C=ON -DGGML_BMI2=ON \
        -DGGML_AVX512=OFF -DGGML_CCACHE=OFF -DCMAKE_C_FLAGS=-march=x86-64-v3
    cmake --build "$build" --parallel "$(nproc)" --target driver_bench_instructions
} >"$build/log.txt" 2>&1 || { cat "$build/log.txt" >&2; die "the build failed"; }
program=$build/experiments/bench_instructions

[ ${#paths[@]} -gt 0 ] || mapfile -t paths < <("$program" --list)

# count PATH: prints instructions per call.
count() {
    local out=$build/callgrind.$1 calls
    rm -f "$out"
    calls=$(env -i PATH="$PATH" OPENBLAS_NUM_THREADS=1 \
        setarch -R valgrind --tool=callgrind --collect-atstart=no --toggle-collect=fgsf_hot_path \
        --callgrind-out-file="$out" "$program" "$1" 2>"$build/valgrind.log") ||
        { cat "$build/valgrind.log" >&2; die "$1 failed"; }
    # In callgrind's format a cost line is "POSITION COST"; what follows "calls=" is inclusive.
    awk -v calls="$calls" '
        /^calls=/ { skip = 1; next }
        /^[+*0-9-]/ { if (skip) { skip = 0; next } total += $2 }
        END { printf "%.0f\n", total / calls }' "$out"
}

old() { [ ! -f "$table" ] || awk -F, -v path="$1" '$1 == path { print $2 }' "$table"; }

compiler=$(${CC:-cc} --version | head -n 1)
new=$build/instructions.csv
{
    echo "# Instructions per call; experiments/bench_instructions.sh --update"
    echo "# $compiler"
    echo "path,instructions"
} >"$new"

grown=0
printf '%-22s %14s %14s %9s\n' path instructions committed change
for path in "${paths[@]}"; do
    total=$(count "$path")
    echo "$path,$total" >>"$new"
    before=$(old "$path")
    change=$(awk -v a="${before:-0}" -v b="$total" \
        'BEGIN { if (a > 0) printf "%+.2f%%", 100 * (b / a - 1); else print "new" }')
    printf '%-22s %14d %14s %9s\n' "$path" "$total" "${before:--}" "$change"
    if [ -n "$before" ] && [ $((total * 100)) -gt $((before * (100 + limit))) ]; then grown=1; fi
done

if [ $update = yes ]; then
    mkdir -p "$(dirname "$table")"
    cp "$new" "$table"
    exit 0
fi
if [ $grown -ne 0 ]; then
    echo "bench_instructions: a path grew by more than $limit %" >&2
    exit 1
fi
