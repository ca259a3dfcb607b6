# SPDX-License-Identifier: Apache-2.0
"""The real ``gmx``; tests that need it are skipped without it."""

import shutil
from collections.abc import Iterator

import pytest

from fabricbench.inputs import systems
from recipe import recipes


@pytest.fixture(scope="session")
def gmx() -> str:
    path = shutil.which("gmx")
    if path is None:
        pytest.skip("no gmx: run `fabricbench setup --for-tests` as root on Debian, or install GROMACS")
    return path


@pytest.fixture(autouse=True)
def _restore_systems(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Restores the folder of the committed systems, and hides the user's inputs."""
    monkeypatch.delenv("FABRICBENCH_GROMACS_INPUTS", raising=False)
    folder, settings = systems.FOLDER, recipes.SETTINGS
    yield
    systems.FOLDER, recipes.SETTINGS = folder, settings
    systems.forget()
