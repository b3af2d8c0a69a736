#!/usr/bin/env bash
# The version of ggml and of the package that brings it are written once, in third_party/package.json;
# the lockfile beside it is npm's. An upgrade changes these two files and nothing else.
set -euo pipefail

source=${FGSF_SOURCE:?} driver=${FGSF_BUILD:?}/experiments/four_rooms
[ -x "$driver" ] || exit 77
package=$(sed -n 's/.*"nodejs-whisper": "\(.*\)".*/\1/p' "$source/third_party/package.json")
ggml=$("$driver" --version | sed -n 's/.*ggml \([0-9.]*\)).*/\1/p')
[ -n "$package" ] && [ -n "$ggml" ] || { echo "no version found: '$package', '$ggml'"; exit 1; }
grep -q "\"version\": \"$package\"" "$source/third_party/package-lock.json" ||
    { echo "package.json pins $package, the lockfile something else"; exit 1; }

# In what builds and runs; pages may say with which version something was seen.
cd "$source"
found=$(grep -rnFw -e "$ggml" -e "nodejs-whisper@$package" -e "nodejs-whisper $package" \
    --include='*' third_party cmake CMakeLists.txt include src envs experiments notebooks-export/*.c \
    python .ci CONTRIBUTING.md README.md 2>/dev/null |
    grep -vE '^third_party/package(-lock)?\.json:' | grep -v '/node_modules/' || true)
[ -z "$found" ] || { echo "the version of ggml is written again:"; echo "$found"; exit 1; }
