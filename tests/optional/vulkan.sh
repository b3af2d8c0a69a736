#!/usr/bin/env bash
# tests/optional/vulkan.sh [DEVICE]: FGSF on ggml's Vulkan backend against the CPU. Without a DEVICE
# it takes Mesa's software device, so that no GPU is needed. Not part of tests/run: building ggml's
# shaders takes five minutes on two cores, once, and the rest as long.
#
# Checked: the device is listed, nothing falls back to the CPU, loss and gradient of every problem in
# tests/golden/gradients agree, the optimiser in the graph steps as ours, every method starts as on the
# CPU and can be resumed on either (test_resident, test_device_runs), a driver trains, and a step moves
# no more bytes than on the device `resident`.
set -euo pipefail

FGSF_ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=$FGSF_ROOT/build/vulkan
if [ $# -eq 0 ]; then
    export GGML_VK_VISIBLE_DEVICES=0 # ggml takes only GPUs unless told otherwise
    for file in /usr/share/vulkan/icd.d/lvp_icd*.json; do
        if [ -f "$file" ]; then export VK_ICD_FILENAMES=$file; fi
    done
fi
device=${1:-Vulkan0}
export OPENBLAS_NUM_THREADS=1

fail() {
    echo "vulkan: $*"
    exit 1
}

"$FGSF_ROOT/third_party/setup" --backend vulkan
cmake -S "$FGSF_ROOT" -B "$build" -G Ninja -DFGSF_VULKAN=ON -DFGSF_MPI=OFF >/dev/null
cmake --build "$build" --target driver_gradient_oracle driver_four_rooms driver_overhead \
    test_resident test_device_runs >/dev/null
oracle=$build/experiments/gradient_oracle
four_rooms=$build/experiments/four_rooms
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$four_rooms" --list-devices 2>"$work/said"
if grep ggml "$work/said"; then fail "ggml prints"; fi
"$four_rooms" --list-devices | grep -qi "^$device " || fail "$device is not listed"
"$four_rooms" --check-device --device "${device,,}" | tee "$work/check"
if grep "on the CPU instead" "$work/check"; then fail "something runs on the CPU"; fi
export GGML_VK_DISABLE_F16=1 GGML_VK_DISABLE_COOPMAT=1 GGML_VK_DISABLE_COOPMAT2=1 # as the drivers do
for test in test_resident test_device_runs; do
    FGSF_TEST_DEVICE=$device "$build/tests/$test" || fail "$test"
done

# Bytes up and down per step: those of `resident`, which tests/run looks at.
bytes() {
    "$build/experiments/overhead" --device "$1" --preset clean --batch 64 --tasks 4 --steps 10 \
        --warmup 2 --methods fg-sfrql --format csv | awk -F, 'END { printf "%.0f %.0f", $6, $7 }'
}
echo "KB up and down per step: $(bytes "$device"), on resident $(bytes resident)"
[ "$(bytes "$device")" = "$(bytes resident)" ] || fail "a step moves other numbers of bytes"

# The largest difference relative to the largest number, over all numbers of the two answers.
numbers() { grep -oE -- '-?[0-9]+\.?[0-9]*(e[-+]?[0-9]+)?' "$1"; }
for problem in "$FGSF_ROOT"/tests/golden/gradients/*.json; do
    case $problem in *.expected.json) continue ;; esac
    "$oracle" --device cpu "$problem" >"$work/cpu"
    "$oracle" --device "$device" "$problem" >"$work/device"
    paste <(numbers "$work/cpu") <(numbers "$work/device") | awk -v name="${problem##*/}" '
        { d = $1 - $2; d = d < 0 ? -d : d; m = $1 < 0 ? -$1 : $1
          if (d > worst) worst = d
          if (m > most) most = m }
        END { printf "%-18s %6d numbers, largest error %.1e\n", name, NR, worst / most
              exit !(NR > 10 && worst <= 1e-5 * most) }' || fail "$problem differs"
done

# Training: the same decisions as on the CPU at first, until rounding tells the runs apart.
train=(--methods fg-sfrql --scale smoke --set train.steps_per_task=100 --set train.log_every=20
    --set eval.episodes=1 --set train.batch_size=32 --jobs 1)
"$four_rooms" "${train[@]}" --device cpu --out "$work/cpu-run" --quiet
"$four_rooms" "${train[@]}" --device "$device" --out "$work/device-run" 2>"$work/said" >/dev/null ||
    fail "training failed: $(cat "$work/said")"
if grep "on the CPU instead" "$work/said"; then fail "something runs on the CPU"; fi
for run in cpu-run device-run; do
    csv=$work/$run/four_rooms/fg-sfrql/seed-0/train.csv
    [ "$(wc -l <"$csv")" = 11 ] || fail "$csv is not complete"
    sed -n 2,6p "$csv" | cut -d, -f1-5 >"$work/$run.csv"
    echo "$run, loss after 20 .. 100 steps: $(sed -n 2,6p "$csv" | cut -d, -f6 | paste -sd' ')"
done
cmp "$work/cpu-run.csv" "$work/device-run.csv" || fail "the first 100 steps differ"
echo "vulkan: passed"
