"""Tests that need Gymnasium, MO-Gymnasium, torch or pandas are skipped by name without them."""
import os
import pathlib
import subprocess

import pytest

BUILD = pathlib.Path(os.environ.get("FGSF_BUILD", pathlib.Path(__file__).parents[2] / "build"))
SOURCE = pathlib.Path(__file__).parents[2]


@pytest.fixture
def driver():
    """Runs a program of experiments/ and returns what it prints."""
    def run(name, *arguments):
        program = BUILD / "experiments" / name
        if not program.exists():
            pytest.skip(f"{name} is not built")
        return subprocess.run([program, *map(str, arguments)], check=True, text=True,
                              stdout=subprocess.PIPE).stdout
    return run


@pytest.fixture
def golden():
    return SOURCE / "tests" / "golden"
