#!/usr/bin/env bash
# tests/optional/tidy.sh [FILE...]: clang-tidy 14 over our own code with the checks of .clang-tidy, which also
# says what is left out and why (`third_party/setup --with check`, then `tests/run -N`).
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
command -v clang-tidy-14 >/dev/null || { echo "clang-tidy-14 is not installed (third_party/setup --with check)"; exit 77; }
cd "$root"
files=("$@")
[ $# -gt 0 ] || mapfile -t files < <(git ls-files 'src/*.c' 'envs/*.c' 'experiments/*.c' 'notebooks-export/*.c' ':!experiments/demo') # demo.c is emscripten's
printf '%s\0' "${files[@]}" | xargs -0 -n 4 -P "$(nproc)" clang-tidy-14 -p build --quiet --extra-arg=-w 2>/dev/null
echo "tidy: ${#files[@]} files, nothing found"
