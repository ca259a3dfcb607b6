# SPDX-License-Identifier: Apache-2.0
"""Tests the profiler with every MPI stack that is set up: each call of MPI is counted once, with its bytes."""

import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from fabricbench.setup.probe import lane_environment
from fabricbench.site.stacks import STACK_FILE, Installed, Stack, read_installed, site_stacks
from support.mpi_calls import BINDINGS, LEFT_OUT, Expected, prototypes
from support.mpi_scenarios import program
from support.profiles import Profile, read_profiles

REPOSITORY = Path(__file__).resolve().parents[2]
PROGRAMS = REPOSITORY / "tests/support"
STACKS = {name: stack for name, stack in site_stacks(REPOSITORY / "site").items() if stack.level == "mpi"}


@dataclass(frozen=True)
class Profiled:
    """Compiles programs with a stack and runs them with the profiler."""

    stack: Stack
    installed: Installed
    directory: Path

    def environment(self) -> dict[str, str]:
        oversubscribed = dict(self.stack.oversubscribed)
        return lane_environment(self.installed, self.installed.variables(self.stack, "shm") | oversubscribed)

    def compile(self, source: Path, *options: str) -> Path:
        compiler = "mpicc" if source.suffix == ".c" else "mpif90"
        wrapper = Path(self.installed.prefix) / "bin" / compiler
        if not wrapper.exists():
            pytest.skip(f"{self.stack.name} has no {compiler}")
        target = self.directory / source.stem
        command = [str(wrapper), "-w", *options, "-o", str(target), str(source)]
        done = subprocess.run(command, env=self.environment(), capture_output=True, text=True, timeout=120)
        if done.returncode and ("mpi_f08" in done.stderr or "mpi_f08" in source.name):
            pytest.skip(f"{self.stack.name} has no module mpi_f08 for this compiler")
        assert done.returncode == 0, done.stderr[-2000:]
        return target

    def launch(self, command: list[str], ranks: int = 2, **variables: str) -> subprocess.CompletedProcess[str]:
        """Runs a program with the profiler; its files are in ``directory``."""
        library = f"{self.installed.apps}/lib/libfabricbench_profiler.so"
        preload = ["env", f"LD_PRELOAD={library}", f"FABRICBENCH_PROFILE={self.directory}"]
        preload += [f"{name}={value}" for name, value in variables.items()]
        argv = [f"{self.installed.prefix}/bin/mpirun", "-np", str(ranks), *preload, *command]
        return subprocess.run(argv, env=self.environment(), capture_output=True, text=True, timeout=120)

    def run(self, command: list[str], ranks: int = 2, **variables: str) -> list[Profile]:
        done = self.launch(command, ranks, **variables)
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
        return read_profiles(self.directory)


@pytest.fixture(params=sorted(STACKS))
def profiled(request: pytest.FixtureRequest, tmp_path: Path) -> Profiled:
    name = request.param
    installed = read_installed(REPOSITORY / "build/stacks" / name / STACK_FILE)
    if installed is None:
        pytest.skip(f"the stack {name} is not set up: run `make setup`")
    return Profiled(STACKS[name], installed, tmp_path)


def differences(profile: Profile, expected: Expected) -> list[str]:
    """Returns what the profile counts otherwise than expected."""
    found = []
    for name, calls in expected.calls.items():
        timer = profile.timers.get(f"{name}()")
        counted = timer.calls if timer else 0
        if counted < calls if name in expected.at_least else counted != calls:
            found.append(f"{name}: {counted} calls, expected {calls}")
        if profile.sizes(name) != dict(expected.sizes[name]):
            found.append(f"{name}: sizes {profile.sizes(name)}, expected {dict(expected.sizes[name])}")
    unknown = {name[:-2] for name in profile.timers if name.startswith("MPI_") and name.endswith("()")} - set(
        expected.calls
    )
    return found + [f"{name}: counted, not called" for name in sorted(unknown)]


@pytest.mark.parametrize("binding", BINDINGS)
def test_every_function_is_counted_once_with_its_bytes(profiled: Profiled, binding: str) -> None:
    text, expected = program(binding)
    source = profiled.directory / f"calls_{binding}{'.c' if binding == 'c' else '.f90'}"
    source.write_text(text)
    options = () if binding == "c" else ("-fallow-argument-mismatch",)
    profiles = profiled.run([str(profiled.compile(source, *options)), str(profiled.directory / "data")])
    assert [(profile.rank, profile.thread) for profile in profiles] == [(0, 0), (1, 0)]
    for rank, profile in enumerate(profiles):
        assert differences(profile, expected.expected[rank]) == []
        assert profile.metadata["Unprofiled MPI Functions"] == ""
        parts: dict[str, float] = {}
        for row in profile.rows:
            parts[row.function] = parts.get(row.function, 0.0) + row.timer.exclusive_us
        timed = {name: timer for name, timer in profile.timers.items() if name.removesuffix("()") in parts}
        for name, timer in timed.items():
            assert parts[name.removesuffix("()")] == pytest.approx(timer.exclusive_us, abs=1e-3)


def test_functions_that_no_program_calls_are_in_the_table() -> None:
    assert LEFT_OUT.keys() <= prototypes().keys()
