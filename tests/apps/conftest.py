# SPDX-License-Identifier: Apache-2.0
"""Builds witness and launch without MPI, with warnings as errors, and runs small programs with them."""

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


@pytest.fixture(scope="session")
def prefix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Builds and installs both components. Returns the installation prefix."""
    if not shutil.which("cmake") or not shutil.which("c++"):
        pytest.skip("needs cmake and a C++ compiler")
    root = tmp_path_factory.mktemp("parts")
    build = str(root / "build")
    configure = ["cmake", "-S", str(APPS), "-B", build, "-DFABRICBENCH_MPI=OFF", "-DFABRICBENCH_WERROR=ON"]
    configure += ["-DCMAKE_INSTALL_LIBDIR=lib", f"-DCMAKE_INSTALL_PREFIX={root / 'prefix'}"]
    for command in (configure, ["cmake", "--build", build, "--target", "install"]):
        process = subprocess.run(command, capture_output=True, text=True, timeout=300)
        assert process.returncode == 0, process.stdout + process.stderr
    return root / "prefix"


@pytest.fixture(scope="session")
def witness(prefix: Path) -> Path:
    """Returns the path of the library to preload."""
    return prefix / "lib/libfabricbench_witness.so"


@pytest.fixture(scope="session")
def wrapper(prefix: Path) -> Path:
    """Returns the path of fabricbench-launch."""
    return prefix / "bin/fabricbench-launch"


@pytest.fixture(scope="session")
def victim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Compiles the test program and returns its path."""
    folder = tmp_path_factory.mktemp("victim")
    command = ["cc", "-std=gnu11", "-w", "-O1", "-pthread", "-o", str(folder / "victim"), str(SUPPORT / "victim.c")]
    subprocess.run(command, check=True, timeout=60)
    return folder / "victim"


@pytest.fixture
def run(witness: Path, victim: Path, tmp_path: Path) -> Run:
    """Returns a function that runs the test program and returns the reports of the witness."""

    def run_it(what: str, status: int = 0, extra: Mapping[str, str] | None = None) -> list[Json]:
        out = tmp_path / "out"
        out.mkdir(exist_ok=True)
        env = environment(witness, out, **(extra or {}))
        process = subprocess.run([victim, what], env=env, capture_output=True, timeout=60)
        assert (process.returncode, process.stderr) == (status, b"")
        return reports(out)

    return run_it


@pytest.fixture
def start(wrapper: Path, tmp_path: Path) -> Iterator[Start]:
    """Returns a function that starts fabricbench-launch. Kills processes that a failed test leaves running."""
    processes: list[Process] = []

    def start_it(*command: str | Path, options: tuple[str, ...] = (), directory: Path | None = None) -> Process:
        where = directory or tmp_path / "launch"
        where.mkdir(exist_ok=True)
        limit = () if "--limit" in options else ("--limit", "60")
        processes.append(
            subprocess.Popen(
                [wrapper, "--dir", where, *limit, *options, "--", *command], stderr=subprocess.PIPE, text=True
            )
        )
        return processes[-1]

    yield start_it
    for process in processes:
        if process.poll() is None:
            process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.communicate(timeout=10)


@pytest.fixture(scope="session")
def node(prefix: Path) -> Path:
    """Returns the path of fabricbench-node."""
    return prefix / "bin/fabricbench-node"


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """Returns the directory for the node facts."""
    (tmp_path / "out").mkdir()
    return tmp_path / "out"


@pytest.fixture(scope="session")
def shared_programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns the directory of the compiled programs that several tests run."""
    return tmp_path_factory.mktemp("programs")
