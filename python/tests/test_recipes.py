"""Every recipe of docs/python.md runs as it stands, and run directories are read whole."""
import re
import subprocess
import sys

import numpy as np
import pytest

import fgsf
from conftest import SOURCE

RECIPES = re.findall(r"^## (\d\. [^\n]+)\n\n```python\n(.*?)^```",
                     (SOURCE / "docs" / "python.md").read_text(), re.M | re.S)


@pytest.fixture
def folder(tmp_path, monkeypatch, golden):
    """A folder with run directories in it."""
    subprocess.check_call([sys.executable, golden / "make_runs.py", tmp_path / "runs"])
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("number", range(1, 6))
def test_recipe(folder, number):
    assert len(RECIPES) == 5
    title, code = RECIPES[number - 1]
    if "import gymnasium" in code:
        pytest.importorskip("gymnasium")
    exec(compile(code, title, "exec"), {})


def test_runs_holds_every_row_of_every_run(folder):
    train = fgsf.runs("runs")
    rows = sum(len(f.read_text().splitlines()) - 1 for f in folder.glob("runs/*/*/seed-*/train.csv"))
    assert len(train["step"]) == rows > 0 and len(fgsf.runs("runs", "eval")["return"]) > 0
    assert train["step"].dtype == np.int64 and train["gpi_share"].dtype == np.float64
    one = fgsf.runs("runs", "run", config=("train.gamma",))
    files = list(folder.glob("runs/*/*/seed-*/run.json"))
    assert len(one["seed"]) == len(one["train.gamma"]) == len(files)
    files[0].write_text("{")
    for message, arguments in (("no run directories", ("nothing",)), ("run.json", ("runs",)),
                               ("not train, eval or run", ("runs", "evil"))):
        with pytest.raises(fgsf.Error, match=message):
            fgsf.runs(*arguments)
