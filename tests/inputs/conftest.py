# SPDX-License-Identifier: Apache-2.0
"""The real ``gmx``, or no test."""

import shutil
from collections.abc import Iterator

import pytest

from fabricbench.inputs import recipes


@pytest.fixture(scope="session")
def gmx() -> str:
    path = shutil.which("gmx")
    if path is None:
        pytest.skip("no gmx: run `fabricbench setup --for-tests` as root on Debian, or install GROMACS")
    return path


@pytest.fixture(autouse=True)
def _recipes_as_they_were(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Systems that a test makes up are gone after it, and no input of the user's is looked at."""
    monkeypatch.delenv("FABRICBENCH_GROMACS_INPUTS", raising=False)
    settings, systems = recipes.SETTINGS, dict(recipes.SYSTEMS)
    yield
    recipes.SETTINGS = settings
    recipes.SYSTEMS.clear()
    recipes.SYSTEMS.update(systems)
