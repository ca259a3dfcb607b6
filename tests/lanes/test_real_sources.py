# SPDX-License-Identifier: Apache-2.0
"""Real source trees of the user are recognised and, where the site describes how, built on one stack."""

import os
import shutil
from pathlib import Path

import pytest

from fabricbench.setup.sources.description import description_file
from fabricbench.setup.sources.recognise import recognise
from fabricbench.site.settings import build_root
from fabricbench.site.stacks import STACK_FILE, read_installed
from support.command import inside

SOURCES = "FABRICBENCH_TEST_SOURCES"
"""Paths of source trees, separated by colons. CI has none."""
STACK = os.environ.get("FABRICBENCH_TEST_STACK", "mpich")
PATHS = [Path(path) for path in os.environ.get(SOURCES, "").split(":") if path]


@pytest.mark.skipif(bool(PATHS), reason="real source trees are tested")
def test_real_sources_are_named() -> None:
    pytest.skip(f"{SOURCES} names no source trees: nothing real was built")


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.name)
def test_a_real_source(path: Path, tmp_path: Path) -> None:
    tree = recognise(path)
    if not description_file(tree.package.name).exists():
        pytest.skip(f"the site does not describe how to build {tree.package.title}")
    record = build_root() / "stacks" / STACK / STACK_FILE
    if not record.exists():
        pytest.skip(f"{STACK} is not set up: run `make setup`")
    home = tmp_path / "build/stacks" / STACK
    home.mkdir(parents=True)
    shutil.copy(record, home)
    result = inside(
        "setup", STACK, "--source", str(path),
        environment={**os.environ, "FABRICBENCH_BUILD": str(tmp_path / "build")},
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    installed = read_installed(home / STACK_FILE)
    assert installed is not None
    assert installed.sources[tree.package.name].version == tree.version
