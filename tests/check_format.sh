#!/usr/bin/env bash
# Every C file of ours is formatted as .clang-format says (clang-format 14, Debian's). To reformat:
#   git ls-files '*.c' '*.h' | xargs clang-format-14 -i
set -euo pipefail
cd "$FGSF_SOURCE"

format=$(command -v clang-format-14 || command -v clang-format) || {
    echo "clang-format is not installed"
    exit 77
}
find . -path ./build -prune -o -path './.*' -prune -o -name '*.[ch]' -print0 |
    xargs -0 -r "$format" --dry-run -Werror
