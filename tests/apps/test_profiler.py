# SPDX-License-Identifier: Apache-2.0
"""Tests the profiler with every MPI stack that is set up: each call of MPI is counted once, with its bytes.

The other properties do not depend on the stack. The short form tests them with one.
"""

import subprocess
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from fabricbench.setup.probe import lane_environment
from fabricbench.site.stacks import STACK_FILE, Installed, Stack, read_installed, site_stacks
from support.long_form import LONG, is_long
from support.mpi_calls import BINDINGS, LEFT_OUT, Expected, prototypes
from support.mpi_scenarios import program
from support.profiles import Profile, read_profile, read_profiles

REPOSITORY = Path(__file__).resolve().parents[2]
PROGRAMS = REPOSITORY / "tests/support"
STACKS = {name: stack for name, stack in site_stacks(REPOSITORY / "site").items() if stack.level == "mpi"}


@dataclass(frozen=True)
class Profiled:
    """Compiles programs with a stack and runs them with the profiler.

    ``directory``: of the test. ``programs``: of the session, for the programs that several tests run.
    """

    stack: Stack
    installed: Installed
    directory: Path
    programs: Path
    transport: str = "shm"

    def environment(self) -> dict[str, str]:
        oversubscribed = dict(self.stack.oversubscribed)
        return lane_environment(self.installed, self.installed.variables(self.stack, self.transport) | oversubscribed)

    def compile(self, source: Path, *options: str) -> Path:
        compiler = "mpicc" if source.suffix == ".c" else "mpif90"
        wrapper = Path(self.installed.prefix) / "bin" / compiler
        if not wrapper.exists():
            pytest.skip(f"{self.stack.name} has no {compiler}")
        shared = source.parent == PROGRAMS
        target = self.programs / f"{self.stack.name}-{source.stem}" if shared else self.directory / source.stem
        if shared and target.exists():
            return target
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


def is_set_up(name: str) -> bool:
    return (REPOSITORY / "build/stacks" / name / STACK_FILE).exists()


READY = sorted((name for name in STACKS if is_set_up(name)), key=lambda name: name != "mpich") or ["mpich"]
"""The stacks that are set up. MPICH, which has the fastest launcher, is the first."""
ONE_STACK = READY if is_long() else READY[:1]
"""The stacks for tests whose result does not depend on the stack."""
on_one_stack = pytest.mark.parametrize("profiled", ONE_STACK, indirect=True)


@pytest.fixture(params=READY)
def profiled(request: pytest.FixtureRequest, tmp_path: Path, shared_programs: Path) -> Profiled:
    name = request.param
    installed = read_installed(REPOSITORY / "build/stacks" / name / STACK_FILE)
    if installed is None:
        pytest.skip(f"the stack {name} is not set up: run `make setup`")
    return Profiled(STACKS[name], installed, tmp_path, shared_programs)


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
        assert [row.timer.calls for row in profile.of("MPI_Barrier", region="1")] == [1]
        parts: dict[str, float] = {}
        for row in profile.rows:
            parts[row.function] = parts.get(row.function, 0.0) + row.timer.exclusive_us
        timed = {name: timer for name, timer in profile.timers.items() if name.removesuffix("()") in parts}
        for name, timer in timed.items():
            assert parts[name.removesuffix("()")] == pytest.approx(timer.exclusive_us, abs=1e-3)


def test_functions_that_no_program_calls_are_in_the_table() -> None:
    assert prototypes().keys() >= LEFT_OUT


PROFILED = PROGRAMS / "profiled.c"


def program_of(profiled: Profiled) -> str:
    return str(profiled.compile(PROFILED, "-pthread"))


@on_one_stack
def test_region(profiled: Profiled) -> None:
    """MPI_Pcontrol(1) begins and MPI_Pcontrol(0) ends the measured region."""
    for profile in profiled.run([program_of(profiled), "region"]):
        calls = {row.keys.get("region", ""): row.timer.calls for row in profile.of("MPI_Allreduce", size="32")}
        assert calls == {"": 4, "1": 10}
        assert [row.keys.get("region") for row in profile.of("MPI_Barrier")] == [None]
        region, whole = profile.timers["measured region"], profile.timers[".TAU application"]
        inside = sum(row.timer.exclusive_us for row in profile.of("MPI_Allreduce", region="1"))
        assert region.calls == 2
        assert region.inclusive_us == pytest.approx(region.exclusive_us + inside)
        assert whole.inclusive_us > region.inclusive_us
        assert profile.metadata["Measured Region"] == "MPI_Pcontrol"


@on_one_stack
def test_the_flat_profile_adds_up(profiled: Profiled) -> None:
    for profile in profiled.run([program_of(profiled), "region"]):
        flat = [timer for name, timer in profile.timers.items() if "[" not in name]
        assert sum(t.exclusive_us for t in flat) == pytest.approx(profile.timers[".TAU application"].inclusive_us)


@on_one_stack
def test_waits_belong_to_the_operations_that_they_complete(profiled: Profiled) -> None:
    for profile in profiled.run([program_of(profiled), "waits"]):
        completed = {
            (row.keys["operation"], int(row.keys["message size"])): row.timer.calls for row in profile.of("MPI_Waitall")
        }
        expected = {(name, size): 1 for name in ("MPI_Irecv", "MPI_Isend") for size in (100, 200, *range(10, 20))}
        assert completed == expected
        assert profile.timers["MPI_Waitall()"].calls == 2
        shares = [row.timer.exclusive_us for row in profile.of("MPI_Waitall", peer="same node")]
        assert len(shares) == 4
        assert max(shares) == pytest.approx(min(shares), abs=0.01)
        (test,) = profile.of("MPI_Test")
        assert test.keys == {"peer": "none"}
        assert profile.events["Message size received from all nodes"].count == 12
        assert profile.events["Message size received in wait"].mean == pytest.approx((300 + sum(range(10, 20))) / 12)
        assert {row.keys["peer"] for row in profile.of("MPI_Isend", size="10")} == {"self"}


@on_one_stack
def test_many_sizes_fall_into_bins_with_exact_sums(profiled: Profiled) -> None:
    for profile in profiled.run([program_of(profiled), "bins"]):
        sizes = profile.sizes("MPI_Sendrecv")
        assert sizes == dict.fromkeys(range(1, 257), 1)
        (binned,) = profile.of("MPI_Sendrecv", size="256-511")
        assert binned.timer.calls == 44
        (event,) = [event for name, event in profile.events.items() if name.startswith("Message size : MPI_Sendrecv()")]
        assert (event.count, event.minimum, event.maximum, event.mean) == (44, 257, 300, 278.5)
        assert profile.events["Message size sent to all nodes"].mean == pytest.approx(150.5)


def test_threads_have_profiles_of_their_own(profiled: Profiled) -> None:
    done = profiled.launch([program_of(profiled), "threads"])
    assert done.returncode == 0, done.stderr[-2000:]
    if "multiple=1" not in done.stdout:
        pytest.skip(f"{profiled.stack.name} has no MPI_THREAD_MULTIPLE")
    profiles = read_profiles(profiled.directory)
    assert [(profile.rank, profile.thread) for profile in profiles] == [(r, t) for r in (0, 1) for t in range(5)]
    for rank in (0, 1):
        own = [profile for profile in profiles if profile.rank == rank and profile.thread]
        sent = sorted(tuple(profile.sizes("MPI_Send").items()) for profile in own)
        assert sent == [((8 * (tag + 1), 500),) for tag in range(4)]
        for profile in own:
            (wait,) = profile.of("MPI_Wait")
            assert (wait.timer.calls, wait.keys["operation"]) == (500, "MPI_Irecv")
            assert [row.keys["message size"] for row in profile.of("MPI_Wait")] == [
                row.keys["message size"] for row in profile.of("MPI_Send")
            ]


def test_functions_outside_the_table_are_named(profiled: Profiled) -> None:
    source = program_of(profiled)
    names = {profile.metadata["Unprofiled MPI Functions"] for profile in profiled.run([source, "unknown"])}
    assert names <= {"MPI_Send_c", "MPIX_Barrier_init"}
    assert len(names) == 1


@pytest.mark.parametrize("end", ["abort", "exit"])
def test_a_program_without_finalize_leaves_no_file(profiled: Profiled, end: str) -> None:
    source = program_of(profiled)
    profiled.launch([source, end], ranks=1)
    assert list(profiled.directory.glob("*profile.*")) == []


@on_one_stack
def test_files_of_tau(profiled: Profiled) -> None:
    done = profiled.launch([program_of(profiled), "bins"], FABRICBENCH_PROFILE_FORMAT="tau")
    assert done.returncode == 0, done.stderr[-2000:]
    assert {path.name for path in profiled.directory.glob("profile.*")} == {"profile.0.0.0", "profile.1.0.0"}
    for rank in (0, 1):
        lines = (profiled.directory / f"profile.{rank}.0.0").read_text().splitlines()
        assert len(read_profile(lines, rank, 0).sizes("MPI_Sendrecv")) == 256


@on_one_stack
def test_barrier_before_collectives(profiled: Profiled) -> None:
    for profile in profiled.run([program_of(profiled), "region"], FABRICBENCH_PROFILE_SYNC="1"):
        assert profile.timers["MPI Collective Sync"].calls == profile.timers["MPI_Allreduce()"].calls == 14
        assert profile.timers["MPI_Barrier()"].calls == 2
        assert profile.metadata["Collective Barrier"] == "yes"


def test_processes_that_join(profiled: Profiled) -> None:
    """Calls that no generated program has. Ranks of another MPI_COMM_WORLD have an unknown node."""
    profiled = replace(profiled, transport="tcp")  # Open MPI's shared memory does not reach started processes
    program = str(profiled.compile(PROGRAMS / "spawned.c"))
    plain = [f"{profiled.installed.prefix}/bin/mpirun", "-np", "2", program]
    try:
        done = subprocess.run(plain, env=profiled.environment(), capture_output=True, timeout=60, check=False)
    except subprocess.TimeoutExpired:
        pytest.skip(f"{profiled.stack.name}: MPI_Comm_spawn does not return here")
    if done.returncode:
        pytest.skip(f"{profiled.stack.name} cannot start further ranks here")
    profiles = [profile for profile in profiled.run([program]) if "MPI_Comm_spawn()" in profile.timers]
    assert [profile.rank for profile in profiles] == [0, 1]
    for profile, joined in zip(profiles, ("accept", "connect"), strict=True):
        calls = {name: timer.calls for name, timer in profile.timers.items()}
        expected = {"MPI_Comm_spawn()": 1, f"MPI_Comm_{joined}()": 1, "MPI_Comm_disconnect()": 2, "MPI_Barrier()": 2}
        assert expected.items() <= calls.items()
        assert profile.of("MPI_Send", peer="any", size="4")[0].timer.calls == 1


# Calls of each rank on two ranks. CG: 16 iterations (one is untimed) of 26 products of a matrix and a vector, each with
# half a vector to the other rank, half a vector to the rank itself and two sums, and one sum of two values. FT: a
# transpose in each of 6 iterations and two before, each with a quarter of the grid to the other rank and as much from
# it.
KERNELS = {
    ("cg", "S"): ("MPI_Send", {8: 832, 16: 16, 1400 // 2 * 8: 2 * 416}),
    ("cg", "W"): ("MPI_Send", {8: 832, 16: 16, 7000 // 2 * 8: 2 * 416}),
    ("ft", "S"): ("MPI_Alltoall", {64**3 * 16 // 4 * 2: 8}),
    ("ft", "W"): ("MPI_Alltoall", {128 * 128 * 32 * 16 // 4 * 2: 8}),
}


@pytest.mark.parametrize(("kernel", "problem"), KERNELS)
def test_fortran_kernels(profiled: Profiled, kernel: str, problem: str) -> None:
    program = Path(profiled.installed.apps) / f"bin/fabricbench-{kernel}"
    if not program.exists():
        pytest.skip(f"{profiled.stack.name} has no Fortran")
    if problem == "W" and profiled.stack.name not in ONE_STACK:
        pytest.skip(f"{LONG}=1 runs class W on every stack")
    function, sizes = KERNELS[kernel, problem]
    for profile in profiled.run([str(program), "--class", problem]):
        assert profile.sizes(function) == sizes
        calls = [row.timer.calls for row in profile.rows if row.function == function]
        assert sum(calls) == profile.timers[f"{function}()"].calls == sum(sizes.values())
