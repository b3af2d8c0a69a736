"""Run directories as tables."""
from __future__ import annotations

import csv
import json
import pathlib
from typing import Any, Dict, List, Sequence

import numpy as np

from ._lib import Error, Path

_RUN = ("env", "method", "cell", "seed", "status")
_ABOUT = ("steps", "optimizer_steps", "seconds", "message", "config_hash")


def _column(values: Sequence[Any]) -> np.ndarray:
    """Whole numbers, else numbers where what is missing is NaN, else objects."""
    texts = ["nan" if v is None or v == "" else str(v) for v in values]
    for kind in (int, float) if set(texts) != {"nan"} else ():
        try:
            return np.array([kind(text) for text in texts])
        except ValueError:
            pass
    return np.array(["" if v is None else v for v in values], object)


def table(names: Sequence[str], rows: List[Sequence[Any]]) -> Any:
    """Rows as a pandas DataFrame, or without pandas as a dict of numpy arrays by column."""
    columns = {name: _column([row[i] for row in rows]) for i, name in enumerate(names)}
    try:
        import pandas
    except ImportError:
        return columns
    return pandas.DataFrame(columns)


def runs(out: Path, what: str = "train", config: Sequence[str] = ()) -> Any:
    """Reads every run under OUT into one table: a pandas DataFrame, or a dict of numpy arrays.

    `what` is "train" (the training curves), "eval" (evaluation episodes) or "run" (one row per run:
    steps, seconds, message). Each row starts with env, method, cell, seed and status. `config` names
    keys of docs/config.md to add as columns. docs/run-directory.md explains the columns.
    """
    if what not in ("train", "eval", "run"):
        raise Error(f"runs: what='{what}' is not train, eval or run")
    files = sorted(pathlib.Path(out).glob("**/run.json"))
    if not files:
        raise Error(f"{out}: no run.json in it or below it")
    rows: List[Dict[str, Any]] = []
    for file in files:
        try:
            record = json.loads(file.read_text())
        except (OSError, ValueError) as e:
            raise Error(f"{file}: {e}", "format") from None
        head = {name: record.get(name) for name in _RUN}
        head.update({key: record.get("config", {}).get(key) for key in config})
        data = file.with_name(f"{what}.csv")
        if what == "run":
            rows.append({**head, **{name: record.get(name) for name in _ABOUT}})
        elif data.exists():
            with open(data, newline="") as lines:
                rows += [{**head, **row} for row in csv.DictReader(lines)]
    names = list(dict.fromkeys(name for row in rows for name in row))
    return table(names, [[row.get(name) for name in names] for row in rows])
