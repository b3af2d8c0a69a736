#!/usr/bin/env bash
# Every public header compiles alone, as strict C11 and as C++, and opens with a recipe that compiles:
# the first indented block of its comment. What recipes take as given is declared in recipes.h.
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
flags=(-Wall -Wextra -Werror -pedantic -fsyntax-only "-I$FGSF_SOURCE/include" "-I$FGSF_SOURCE/tests" "-I$work")

recipe() { # HEADER: its lines, without "..." for what the reader fills in
    awk '!/^\/\// { exit } /^\/\/     / { inside = 1; print; next } inside { exit }' "$1" |
        sed 's,^//     ,,; s,^\( *\)\.\.\.,\1,; s,{ \.\.\. },{ },'
}

compile() { # HEADER: its recipe as the body of a function
    {
        printf '#include "recipes.h"\nvoid recipe(void);\nvoid recipe(void) {\n'
        recipe "$1"
        printf '}\n'
    } >"$work/recipe.c"
    cc -std=c11 "${flags[@]}" -Wno-unused "$work/recipe.c"
}

for header in "$FGSF_SOURCE"/include/fgsf/*.h; do
    printf '#include "fgsf/%s"\n' "${header##*/}" >>"$work/all_headers.h"
done
for header in "$FGSF_SOURCE"/include/fgsf/*.h; do
    printf '#include "fgsf/%s"\nextern int not_empty;\n' "${header##*/}" >"$work/alone.c"
    cc -std=c11 "${flags[@]}" "$work/alone.c"
    c++ "${flags[@]}" -x c++ "$work/alone.c"
    [ -n "$(recipe "$header")" ] || { echo "${header##*/}: has no recipe"; exit 1; }
    compile "$header" || { echo "${header##*/}: its recipe does not compile"; exit 1; }
done

# The control: a recipe that calls a function with another argument is found.
sed 's/fgsf_network_create(&shape, /&\&rng, /' "$FGSF_SOURCE/include/fgsf/network.h" >"$work/bad.h"
if compile "$work/bad.h" 2>/dev/null; then
    echo "a wrong recipe compiles"
    exit 1
fi
