#!/usr/bin/env bash
# The commit in run.json: git's name of the sources, "unknown" without git, and a header that is left
# alone while the commit stays.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
    echo "commit: $*"
    exit 1
}
header() { # SOURCE: the header that a build of these sources would get
    cmake "-DSOURCE=$1" "-DOUT=$work/commit.h" -P "$FGSF_SOURCE/cmake/Commit.cmake"
    cat "$work/commit.h"
}
described() { printf '#define FGSF_COMMIT "%s"' "$1"; }
commit() { git -C "$work/sources" -c user.name=n -c user.email=e commit -qam "$1"; }

mkdir -p "$work/sources/unpacked"
[ "$(header "$work/sources")" = "$(described unknown)" ] || fail "no git: $(cat "$work/commit.h")"
command -v git >/dev/null || exit 0

git init -q "$work/sources"
echo 1 >"$work/sources/file"
git -C "$work/sources" add file
commit first
hash=$(git -C "$work/sources" rev-parse --short HEAD)
[ "$(header "$work/sources")" = "$(described "$hash")" ] || fail "first: $(cat "$work/commit.h")"
before=$(stat -c %y "$work/commit.h")
header "$work/sources" >/dev/null
[ "$(stat -c %y "$work/commit.h")" = "$before" ] || fail "an unchanged commit was written again"
echo 2 >"$work/sources/file"
[ "$(header "$work/sources")" = "$(described "$hash-dirty")" ] || fail "a change is not told"
commit second
[ "$(header "$work/sources")" != "$(described "$hash")" ] || fail "a new commit is not told"
[ "$(header "$work/sources/unpacked")" = "$(described unknown)" ] ||
    fail "sources inside another repository take its commit"
