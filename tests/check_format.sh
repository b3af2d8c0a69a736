#!/usr/bin/env bash
# Every C file of ours is formatted as .clang-format says (clang-format 14, Debian's). To reformat:
#   git ls-files '*.c' '*.h' | xargs clang-format-14 -i
set -euo pipefail
cd "$FGSF_SOURCE"

# Numbers are read in src/number.c alone, in the C locale; the programs enter it in flags.c for good.
locales='setlocale\|newlocale\|uselocale'
if grep -n "strtod\|strtof\|atof\|$locales" src/*.[ch] envs/*.[ch] | grep -v ^src/number ||
    grep -nr --include='*.[ch]' "$locales" experiments notebooks-export |
    grep -v '^experiments/common/flags.c:[0-9]*:    uselocale(newlocale(LC_ALL_MASK, "C"'; then
    echo "these depend on the locale"
    exit 1
fi

# Greatest's own ASSERT_IN_RANGE passes NaN; support_assert.h replaces it.
if grep -l '"greatest.h"' tests/*.[ch] | grep -v support_assert.h; then
    echo "these include greatest.h past tests/support_assert.h"
    exit 1
fi

format=$(command -v clang-format-14 || command -v clang-format) || {
    echo "clang-format is not installed"
    exit 77
}
find . -path ./build -prune -o -path './.*' -prune -o -name '*.[ch]' -print0 |
    xargs -0 -r "$format" --dry-run -Werror
