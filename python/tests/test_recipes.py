"""Every recipe of docs/python.md runs as it stands."""
import re
import subprocess
import sys

import numpy as np
import pytest

import fgsf
from conftest import SOURCE

RECIPES = re.findall(r"^## (\d\. [^\n]+)\n\n```python\n(.*?)^```",
                     (SOURCE / "docs" / "python.md").read_text(), re.M | re.S)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with run directories in it."""
    folder = tmp_path_factory.mktemp("recipes")
    maker = SOURCE / "tests" / "golden" / "make_runs.py"
    subprocess.run([sys.executable, maker, folder / "runs"], check=True)
    return folder


@pytest.fixture
def folder(made, monkeypatch):
    monkeypatch.chdir(made)
    return made


def test_there_are_five():
    assert len(RECIPES) == 5


@pytest.mark.parametrize("title, code", RECIPES, ids=[title for title, _ in RECIPES])
def test_recipe(folder, title, code):
    if "import gymnasium" in code:
        pytest.importorskip("gymnasium")
    exec(compile(code, title, "exec"), {})


def test_runs_holds_every_row_of_every_run(folder):
    train = fgsf.runs("runs")
    rows = sum(len(f.read_text().splitlines()) - 1 for f in folder.glob("runs/*/*/seed-*/train.csv"))
    assert len(train["step"]) == rows > 0
    assert np.issubdtype(train["step"].dtype, np.integer)
    one = fgsf.runs("runs", "run", config=("train.gamma",))
    assert len(one["seed"]) == len(list(folder.glob("runs/*/*/seed-*/run.json")))
    with pytest.raises(fgsf.Error, match="no run directories"):
        fgsf.runs(folder / "nothing")
    with pytest.raises(fgsf.Error, match="not train, eval or run"):
        fgsf.runs("runs", "evil")
    (folder / "runs" / next(folder.glob("runs/*/*/seed-*/run.json"))).write_text("{")
    with pytest.raises(fgsf.Error, match="run.json"):
        fgsf.runs("runs")
