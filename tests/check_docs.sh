#!/usr/bin/env bash
# docs/config.md is what the drivers print. To renew it:
#     build/experiments/four_rooms --list-keys=markdown > docs/config.md
set -euo pipefail

source=${FGSF_SOURCE:?} build=${FGSF_BUILD:?}
driver=$build/experiments/four_rooms
[ -x "$driver" ] || exit 77
if ! diff -u "$source/docs/config.md" <("$driver" --list-keys=markdown); then
    echo "docs/config.md is not what $(basename "$driver") --list-keys=markdown prints" >&2
    exit 1
fi
