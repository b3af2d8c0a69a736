#!/usr/bin/env bash
# The demo page, where emscripten is installed: built, opened from a file in Chromium, trained.
# FGSF_DEMO=1 builds it if it is not there; that takes minutes.
set -euo pipefail

site=$FGSF_SOURCE/build/demo/site/index.html
command -v chromium >/dev/null || { echo "no chromium: third_party/setup --with browser"; exit 77; }
if [ -n "${FGSF_DEMO:-}" ]; then
    command -v emcc >/dev/null || { echo "no emscripten: third_party/setup --with demo"; exit 77; }
    "$FGSF_SOURCE/experiments/run" demo
fi
[ -f "$site" ] || { echo "not built: experiments/run demo"; exit 77; }
node "$FGSF_SOURCE/tests/browser/demo.mjs" "$site" "$@"
