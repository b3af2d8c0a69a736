"""Tests that need Gymnasium, MO-Gymnasium, torch or pandas are skipped by name without them."""
import pathlib

import pytest

SOURCE = pathlib.Path(__file__).parents[2]


@pytest.fixture
def measure(monkeypatch):
    """The example that makes the table of docs/python.md."""
    pytest.importorskip("gymnasium")
    monkeypatch.syspath_prepend(SOURCE / "python" / "examples")
    return __import__("measure")
