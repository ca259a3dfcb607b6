# SPDX-License-Identifier: Apache-2.0
"""Builds the two components that know no MPI, alone, with every warning an error, and runs small programs with them."""

import contextlib
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from support.witnessed import Json, Run, environment, reports
from support.wrapped import Process, Start

SUPPORT = Path(__file__).resolve().parents[1] / "support"
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


@pytest.fixture(scope="session")
def victim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program, compiled."""
    folder = tmp_path_factory.mktemp("victim")
    command = ["cc", "-std=gnu11", "-w", "-O1", "-pthread", "-o", str(folder / "victim"), str(SUPPORT / "victim.c")]
    subprocess.run(command, check=True, timeout=60)
    return folder / "victim"


@pytest.fixture
def run(witness: Path, victim: Path, tmp_path: Path) -> Run:
    """Runs the program; returns what the witness wrote."""

    def run_it(what: str, status: int = 0, extra: Mapping[str, str] | None = None) -> list[Json]:
        out = tmp_path / "out"
        out.mkdir(exist_ok=True)
        env = environment(witness, out, **(extra or {}))
        done = subprocess.run([victim, what], env=env, capture_output=True, timeout=60)
        assert (done.returncode, done.stderr) == (status, b"")
        return reports(out)

    return run_it


@pytest.fixture
def start(wrapper: Path, tmp_path: Path) -> Iterator[Start]:
    """Starts a wrapper; whatever a failed test leaves over is killed."""
    started: list[Process] = []

    def start_it(*command: str | Path, options: tuple[str, ...] = (), directory: Path | None = None) -> Process:
        where = directory or tmp_path / "launch"
        where.mkdir(exist_ok=True)
        limit = () if "--limit" in options else ("--limit", "60")
        started.append(
            subprocess.Popen(
                [wrapper, "--dir", where, *limit, *options, "--", *command], stderr=subprocess.PIPE, text=True
            )
        )
        return started[-1]

    yield start_it
    for process in started:
        if process.poll() is None:
            process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.communicate(timeout=10)
