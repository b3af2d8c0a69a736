#!/usr/bin/env bash
# The README's example is, line for line, part of docs/examples/full_gradient_step.c, and that program
# compiles without a warning and takes a step.
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
example=$FGSF_SOURCE/docs/examples/full_gradient_step.c

sed -n '/^```c$/,/^```$/{/^```/!p}' "$FGSF_SOURCE/README.md" >"$work/readme"
[ -s "$work/readme" ]
first=$(head -n 1 "$work/readme")
sed 's/^    //' "$example" | grep -F -x -A "$(($(wc -l <"$work/readme") - 1))" -- "$first" >"$work/own"
diff "$work/readme" "$work/own"

"${CC:-cc}" -std=c11 -Wall -Wextra -Werror "-I$FGSF_SOURCE/include" "$example" "-L$FGSF_BUILD" \
    "-Wl,-rpath,$FGSF_BUILD" -lfgsf -o "$work/step" # the shared library, which brings its own
"$work/step" | grep -E -x 'loss [0-9.]+, gradient norm [0-9.]+'

# Every file that the README points to exists.
grep -o ']([^)#:]*)' "$FGSF_SOURCE/README.md" | sed 's/](\(.*\))/\1/' | while read -r path; do
    [ -e "$FGSF_SOURCE/$path" ] || { echo "README.md: $path does not exist"; exit 1; }
done
