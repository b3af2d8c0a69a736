#!/usr/bin/env bash
# The Python package as its users get it: a wheel built offline, installed into a virtual environment of
# Debian's python3, and tested there with pytest; then the notebook of an export, which uses it. With
# Gymnasium and MO-Gymnasium in a folder FGSF_GYMNASIUM the tests that need them run too.
set -euo pipefail

python=/usr/bin/python3
for module in venv pip numpy pytest; do
    "$python" -c "import $module" 2>/dev/null || {
        echo "Debian's python3-$module is not installed"
        exit 77
    }
done
work="$(mktemp -d)/with space"
mkdir "$work"
trap 'rm -rf "${work%/*}"' EXIT
"$python" -m venv --system-site-packages "$work/venv"
"$work/venv/bin/pip" install --quiet --no-index --disable-pip-version-check "$FGSF_SOURCE/python"

# A folder with Gymnasium and MO-Gymnasium: the given one, or one that lies beside the repository.
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
        /%[yz]mm/ && name !~ /\.avx(2|512f)>:$/ && name !~ /^<(tile_|run_narrow|run_panel|fgsf_product_run_)/ { print name }' | sort -u)
    [ -z "$wide" ] || { printf 'wide vectors outside the kernels:\n%s\n' "$wide"; exit 1; }
fi

# The notebook draws everything again, from the runs what the exported figures show.
export_bin=$FGSF_BUILD/notebooks-export/export
if ! [ -x "$export_bin" ] || ! command -v gnuplot >/dev/null ||
    ! "$python" -c 'import nbconvert, ipykernel, pandas, matplotlib' 2>/dev/null; then
    echo "the notebook is not run: gnuplot, nbconvert, ipykernel, pandas or matplotlib is missing"
    exit 77
fi
"$python" "$FGSF_SOURCE/tests/golden/make_runs.py" runs
"$export_bin" runs/reacher -o "runs/reacher/an export" >/dev/null
cd "runs/reacher/an export"
PYTHONPATH=${library%/fgsf/*} "$python" -m nbconvert --to notebook --execute --output executed.ipynb \
    notebook.ipynb >../log 2>&1 || { tail -5 ../log; exit 1; }
PYTHONPATH=${library%/fgsf/*} "$python" - <<'PYTHON'
import fgsf, nbformat, pandas
before, after = (nbformat.read(f"{name}.ipynb", as_version=4) for name in ("notebook", "executed"))
drawn = {"for env, runs": 1}
for old, new in zip(before.cells, after.cells):
    had = sum("image/png" in o.get("data", {}) for o in old.get("outputs", []))
    has = sum("image/png" in o.get("data", {}) for o in new.get("outputs", []))
    assert has == drawn.get(old.source[:13], had), f"{has} figures: {old.source}"
    assert not any(o.output_type == "error" for o in new.get("outputs", []))
train = fgsf.runs("..")
train = train[(train.env == "reacher") & (train.status == "done")]
ours = train.groupby(["method", "task", "task_step"]).cum_reward.mean()
theirs = pandas.read_csv("figures/reacher_cumulative.csv").set_index(["method", "task", "step"])["mean"]
both = ours.index.intersection(theirs.index)
worst = (ours[both] - theirs[both]).abs().max()
assert len(both) > 50 and worst < 1e-8 * ours.abs().max(), f"curves differ by {worst}"
PYTHON
