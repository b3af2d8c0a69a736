#!/usr/bin/env bash
# The Python package as its users get it: a wheel built offline, installed into a virtual environment of
# Debian's python3, and tested there with pytest. With Gymnasium and MO-Gymnasium in FGSF_GYMNASIUM (a
# folder; ../shared/python of the repository if it exists) the tests that need them run too.
set -euo pipefail

python=/usr/bin/python3
for module in venv pip numpy pytest; do
    "$python" -c "import $module" 2>/dev/null || {
        echo "Debian's python3-$module is not installed"
        exit 77
    }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$python" -m venv --system-site-packages "$work/venv"
"$work/venv/bin/pip" install --quiet --no-index --disable-pip-version-check "$FGSF_SOURCE/python"

gymnasium=${FGSF_GYMNASIUM:-$FGSF_SOURCE/../shared/python}
if [ -d "$gymnasium" ]; then export PYTHONPATH=$gymnasium; fi
cd "$work" # not beside the sources: what is imported is what was installed
"$work/venv/bin/python" -c '
import fgsf, pathlib, sys
assert pathlib.Path(fgsf.__file__).is_relative_to(sys.prefix), fgsf.__file__
print("fgsf", fgsf.__version__)'
"$work/venv/bin/python" -m pytest -q -rs -p no:cacheprovider --durations=5 "$FGSF_SOURCE/python/tests"

# For any x86-64 CPU: only the kernels that are chosen at run time may use wide vectors.
library=$(echo "$work"/venv/lib/python3*/site-packages/fgsf/libfgsf_python.so)
if command -v objdump >/dev/null; then
    wide=$(objdump -d --no-show-raw-insn "$library" | awk '
        /^[0-9a-f]+ <.*>:$/ { name = $2 }
        /%[yz]mm/ && name !~ /\.avx2>:$/ && name !~ /^<(tile_|run_narrow|run_panel|fgsf_product_run_)/ { print name }' | sort -u)
    [ -z "$wide" ] || { printf 'wide vectors outside the kernels:\n%s\n' "$wide"; exit 1; }
fi
