"""Tests that need Gymnasium, MO-Gymnasium, torch or pandas are skipped by name without them."""
import os
import pathlib
import subprocess

import pytest

SOURCE = pathlib.Path(__file__).parents[2]
BUILD = pathlib.Path(os.environ.get("FGSF_BUILD", SOURCE / "build"))


@pytest.fixture
def driver():
    """Runs a program of experiments/ and returns what it prints."""
    def run(name, *arguments):
        program = BUILD / "experiments" / name
        if not program.exists():
            pytest.skip(f"{name} is not built")
        return subprocess.check_output([program, *map(str, arguments)], text=True)
    return run


@pytest.fixture
def golden():
    return SOURCE / "tests" / "golden"
