# SPDX-License-Identifier: Apache-2.0
"""Builds the two components that know no MPI, alone, with every warning an error."""

import shutil
import subprocess
from pathlib import Path

import pytest

APPS = Path(__file__).resolve().parents[2] / "apps"

PROJECT = """\
cmake_minimum_required(VERSION 3.22)
project(parts LANGUAGES C)
set(CMAKE_BUILD_TYPE Release)
add_compile_options(-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes -Werror)
add_subdirectory({apps}/witness witness)
add_subdirectory({apps}/launch launch)
"""


@pytest.fixture(scope="session")
def prefix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where both components were installed."""
    if not shutil.which("cmake") or not shutil.which("cc"):
        pytest.skip("needs cmake and a C compiler")
    root = tmp_path_factory.mktemp("parts")
    (root / "CMakeLists.txt").write_text(PROJECT.format(apps=APPS))
    build = str(root / "build")
    configure = ["cmake", "-S", str(root), "-B", build, "-DCMAKE_INSTALL_LIBDIR=lib"]
    configure.append(f"-DCMAKE_INSTALL_PREFIX={root / 'prefix'}")
    for command in (configure, ["cmake", "--build", build, "--target", "install"]):
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stdout + done.stderr
    return root / "prefix"


@pytest.fixture(scope="session")
def witness(prefix: Path) -> Path:
    """The library to preload."""
    return prefix / "lib/libfabricbench_witness.so"


@pytest.fixture(scope="session")
def wrapper(prefix: Path) -> Path:
    """The launch wrapper."""
    return prefix / "bin/fabricbench-launch"
