#!/usr/bin/env bash
# The demo page, built (a minute on two cores), opened from a file in Chromium, and trained.
set -euo pipefail

command -v chromium >/dev/null || { echo "no chromium: third_party/setup --with browser"; exit 77; }
command -v emcc >/dev/null || { echo "no emscripten: third_party/setup --with demo"; exit 77; }
"$FGSF_SOURCE/experiments/run" demo
node "$FGSF_SOURCE/tests/browser/demo.mjs" "$FGSF_SOURCE/build/demo/site/index.html" "$@"
