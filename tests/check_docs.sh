#!/usr/bin/env bash
# docs/config.md is what the drivers print, and no link of a page leads nowhere. To renew config.md:
#     build/experiments/four_rooms --list-keys=markdown > docs/config.md
set -euo pipefail

source=${FGSF_SOURCE:?} build=${FGSF_BUILD:?}
driver=$build/experiments/four_rooms
[ -x "$driver" ] || exit 77
if ! diff -u "$source/docs/config.md" <("$driver" --list-keys=markdown); then
    echo "docs/config.md is not what $(basename "$driver") --list-keys=markdown prints" >&2
    exit 1
fi

# Links to files of the repository, relative to the page.
broken=0
while read -r page; do
    while read -r link; do
        [ -e "$(dirname "$page")/${link%%#*}" ] && continue
        echo "$page: no file ${link%%#*}"
        broken=1
    done < <(grep -oE '\]\([^)#: ]+(#[^) ]*)?\)' "$page" | sed 's/^](//; s/)$//')
done < <(find "$source" -path "$source/build" -prune -o -path '*/.*' -prune -o -name '*.md' -print)
exit $broken
