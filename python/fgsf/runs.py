"""Run directories as tables."""
from __future__ import annotations

import csv
import json
import os
import pathlib
from typing import Any, Dict, List

import numpy as np

from ._lib import Error

_RUN = ("env", "method", "cell", "seed", "status")
_ABOUT = ("steps", "optimizer_steps", "seconds", "message", "config_hash")


def _column(values: List[Any]) -> np.ndarray:
    """Whole numbers, else numbers where what is missing is NaN, else objects."""
    empty = [v is None or v == "" for v in values]
    for dtype in (np.int64, np.float64) if not all(empty) else ():
        try:
            return np.array([float("nan") if e and dtype is np.float64 else v
                             for e, v in zip(empty, values)], dtype)
        except (TypeError, ValueError, OverflowError):
            pass
    return np.array(values, object)


def table(rows: List[Dict[str, Any]]) -> Any:
    """Rows as a pandas DataFrame, or without pandas as a dict of numpy arrays by column."""
    names = dict.fromkeys(name for row in rows for name in row)
    columns = {name: _column([row.get(name) for row in rows]) for name in names}
    try:
        import pandas
    except ImportError:
        return columns
    return pandas.DataFrame(columns)


def runs(out: "str | os.PathLike[str]", what: str = "train", config: "tuple[str, ...]" = ()) -> Any:
    """Reads every run under OUT into one table: a pandas DataFrame, or a dict of numpy arrays.

    `what` is "train" (the training curves), "eval" (evaluation episodes) or "run" (one row per run:
    steps, seconds, message). Each row starts with env, method, cell, seed and status. `config` names
    keys of docs/config.md to add as columns. docs/run-directory.md explains the columns.
    """
    if what not in ("train", "eval", "run"):
        raise Error(f"runs: what='{what}' is not train, eval or run")
    files = sorted(pathlib.Path(out).glob("*/*/seed-*/run.json"))
    if not files:
        raise Error(f"{out}: no run directories (*/*/seed-*/run.json)")
    rows: List[Dict[str, Any]] = []
    for file in files:
        try:
            record = json.loads(file.read_text())
        except (OSError, ValueError) as e:
            raise Error(f"{file}: {e}", "format") from None
        head = {name: "" if record.get(name) is None else record[name] for name in _RUN}
        head.update({key: record.get("config", {}).get(key) for key in config})
        data = file.with_name(f"{what}.csv")
        if what == "run":
            rows.append({**head, **{name: record.get(name) for name in _ABOUT}})
        elif data.exists():
            with open(data, newline="") as lines:
                rows += [{**head, **row} for row in csv.DictReader(lines)]
    return table(rows)
