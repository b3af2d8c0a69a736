#!/usr/bin/env bash
# Measures everything that docs/speed.md shows and writes it there, section by section.
#
#   experiments/speed_report.sh               all sections (about half an hour; --peer needs torch)
#   experiments/speed_report.sh NAME...       only these (--list prints them with their commands)
#
# Runs build/experiments/overhead; FGSF_BUILD names another build folder. The text between the lines
# <!-- NAME --> and <!-- end --> of the page is replaced; everything else is written by hand.
# `scaling` also renews the table and the figure in notebooks-export/results/speed (needs gnuplot).
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
page=$root/docs/speed.md
build=${FGSF_BUILD:-$root/build}
program=$build/experiments/overhead
kept=$root/notebooks-export/results/speed

names=(machine peer-512 peer-64 plain-64 methods-512 methods-64 avx2-512 avx2-64 parts-512 parts-64
    torso-512 torso-64 act whole parallel scaling)
declare -A arguments=(
    [peer-512]="--peer --batch 512 --tasks 8 --steps 150"
    [peer-64]="--peer --batch 64 --tasks 6 --steps 488"
    [plain-64]="--peer --peer-style plain --batch 64 --tasks 6 --steps 200"
    [methods-512]="--preset compat --batch 512 --tasks 8"
    [methods-64]="--preset compat --batch 64 --tasks 6"
    [avx2-512]="--preset compat --batch 512 --tasks 8"
    [avx2-64]="--preset compat --batch 64 --tasks 6"
    [parts-512]="--parts --batch 512"
    [parts-64]="--parts --batch 64"
    [torso-512]="--preset clean --batch 512 --tasks 8 --methods fg-sfrql,sfrql --versus net.kind=torso"
    [torso-64]="--preset clean --batch 64 --tasks 8 --methods fg-sfrql --versus net.kind=torso"
    [act]="--act"
    [whole]="--whole --preset compat --methods fg-sfrql,sfrql,dqn"
    [parallel]="--parallel 2 --batch 64 --tasks 6"
    [scaling]="--scaling"
)

machine() {
    local model
    model=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)
    echo "$model, family $(sed -n 's/^cpu family[^:]*: //p' /proc/cpuinfo | head -n 1)," \
        "model $(sed -n 's/^model[[:space:]]*: //p' /proc/cpuinfo | head -n 1)," \
        "$(nproc) cores, $(awk '/MemTotal/ { printf "%.0f", $2 / 1048576 }' /proc/meminfo) GiB"
    echo "AVX2: $(grep -qw avx2 /proc/cpuinfo && echo yes || echo no)," \
        "AVX-512: $(grep -qw avx512f /proc/cpuinfo && echo yes || echo no)"
    echo "$(. /etc/os-release && echo "$PRETTY_NAME"), $(cc --version | head -n 1)"
    echo "OpenBLAS $(dpkg-query -W -f '${Version}' libopenblas0-pthread 2>/dev/null || echo '?')," \
        "$(date -u +%F), load $(cut -d' ' -f1-3 /proc/loadavg)"
}

# A build without AVX-512, for sections that compare with OpenBLAS's AVX2 kernels.
build_avx2() {
    cmake -S "$root" -B "$build/avx2" -DFGSF_AVX512=OFF -DFGSF_BUILD_TESTS=OFF \
        -DFGSF_THIRD_PARTY_DIR="${FGSF_THIRD_PARTY_DIR:-$root/build/third_party}" >/dev/null
    cmake --build "$build/avx2" --target driver_overhead -j "$(nproc)" >/dev/null
}

section() {
    local csv=() before=()
    if [ "$1" = machine ]; then
        machine
        return
    fi
    [ "$1" != scaling ] || csv=(--csv "$work/overhead_scaling.csv")
    local run=$program
    if [[ $1 = avx2-* ]]; then
        build_avx2
        run=$build/avx2/experiments/overhead
        before=(env OPENBLAS_CORETYPE=Haswell)
    fi
    echo "\$ ${before[*]:1}${before:+ }overhead ${arguments[$1]}"
    # shellcheck disable=SC2086 # words on purpose
    "${before[@]}" "$run" ${arguments[$1]} "${csv[@]}"
}

# Draws what `scaling` measured.
draw_scaling() {
    "$build/notebooks-export/export" "$work" -o "$work/export"
    mkdir -p "$kept/figures"
    cp "$work/overhead_scaling.csv" "$kept"
    cp "$work"/export/figures/overhead_scaling.{csv,gp,png} "$kept/figures"
}

if [ "${1:-}" = --list ]; then
    for name in "${names[@]}"; do printf '%-12s %s\n' "$name" "${arguments[$name]:-}"; done
    exit 0
fi
if [ ! -x "$program" ]; then
    echo "speed_report: no $program: run experiments/run overhead --help" >&2
    exit 2
fi
wanted=("$@")
[ $# -gt 0 ] || wanted=("${names[@]}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
text=$work/text
for name in "${wanted[@]}"; do
    grep -q "^<!-- $name -->\$" "$page" || { echo "speed_report: no section '$name'" >&2; exit 2; }
    { echo '```'; section "$name"; echo '```'; } | tee "$text"
    [ "$name" != scaling ] || draw_scaling
    awk -v name="$name" -v text="$text" '
        /^<!-- end -->$/ { skip = 0 }
        !skip { print }
        $0 == "<!-- " name " -->" { while ((getline line < text) > 0) print line; skip = 1 }
    ' "$page" >"$page.new"
    mv "$page.new" "$page"
done
