#!/usr/bin/env bash
# docs/config.md is what the drivers print, no link of a page leads nowhere, and the drivers take every
# command of the pages. To renew config.md:
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

# Commands, in code blocks and between backticks. --print-config reads all flags and runs nothing.
tried=0
while read -r command; do
    command=${command%%#*}
    name=$(cut -d ' ' -f 2 <<<"$command")
    case $name in four_rooms | reacher | point_maze | train | averaging | gradient_*) ;; *) continue ;; esac
    [ "$name" != gradient_oracle ] && [ -x "$build/experiments/$name" ] || continue
    [[ $command != *--plugin* ]] || continue # the file is not there
    eval "arguments=(${command#*"$name"})"
    "$build/experiments/$name" "${arguments[@]}" --print-config >/dev/null 2>"${TMPDIR:-/tmp}/docs.$$" || {
        echo "$command: $(cat "${TMPDIR:-/tmp}/docs.$$")"
        broken=1
    }
    tried=$((tried + 1))
done < <(cat "$source"/README.md "$source"/docs/*.md "$source"/notebooks-export/results/*/*.md |
    sed 's/`experiments/\nexperiments/g' | sed -n 's/^\(experiments\/run [^`]*\).*/\1/p' | sort -u)
rm -f "${TMPDIR:-/tmp}/docs.$$"
[ "$tried" -ge 10 ] || { echo "only $tried commands found"; broken=1; }
exit $broken
