# SPDX-License-Identifier: Apache-2.0
"""Tests the injected delays with every MPI stack that is set up.

The delays are so long that other load on the machine does not matter; the fastest round counts. What does not depend
on the stack is tested with one in the short form, and exactly on a simulated network (tests/simulated).
"""

import subprocess
from pathlib import Path

import pytest

from apps.test_profiler import Profiled, on_one_stack, profiled
from support.injected_fortran import BINDINGS, METHODS, program

__all__ = ["profiled"]

PROGRAM = Path(__file__).resolve().parents[1] / "support/injected.c"
ONE = ("recv", "any_source", "wait", "test", "start", "probe", "iprobe", "mprobe", "improbe")
"""Ways to receive one message."""
MANY = ("waitall", "waits", "waitany", "waitsome", "testany", "testsome", "testall")
"""Ways to receive four messages that are pending together."""
DELAY_US = 50_000
ROUNDS = (1, 2, 3, 4)
"""The rounds of each launch. The fastest counts, and no further launch follows one that passes."""


def launch(profiled: Profiled, command: list[str], inject: str) -> subprocess.CompletedProcess[str]:
    library = f"{profiled.installed.apps}/lib/libfabricbench_profiler.so"
    preload = ["env", f"LD_PRELOAD={library}", f"FABRICBENCH_INJECT={inject}"]
    argv = [f"{profiled.installed.prefix}/bin/mpirun", "-np", "2", *preload, *command]
    return subprocess.run(
        argv, env=profiled.environment(), cwd=profiled.directory, capture_output=True, text=True, timeout=120
    )


def times(profiled: Profiled, inject: str, *methods: str, size: int = 8, hops: int = 1, rounds: int = 1) -> list[float]:
    """Returns the microseconds of the fastest round of each method."""
    command = [str(profiled.compile(PROGRAM)), str(rounds), str(size), str(hops), *methods]
    done = launch(profiled, command, inject)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    lines = [line.split() for line in done.stdout.splitlines()]
    assert [name for name, _ in lines] == list(methods)
    return [float(value) for _, value in lines]


def expect(profiled: Profiled, inject: str, expected: dict[str, int], size: int = 8) -> None:
    """Demands that each method takes this many delays and less than half as many again, in one of four launches.

    A launch that other load disturbed is repeated with more rounds.
    """
    best = dict.fromkeys(expected, float("inf"))
    for rounds in ROUNDS:
        for name, time in zip(expected, times(profiled, inject, *expected, size=size, rounds=rounds), strict=True):
            best[name] = min(best[name], time / DELAY_US)
        if all(best[name] < delays + max(1, delays / 2) for name, delays in expected.items()):
            break
    assert [name for name, delays in expected.items() if best[name] < delays] == [], best
    assert [name for name, delays in expected.items() if best[name] >= delays + max(1, delays / 2)] == [], best


def test_each_call_withholds_a_message_once(profiled: Profiled) -> None:
    """A round has one message to each rank, so two delays; messages that are pending together share one."""
    expect(profiled, f"latency={DELAY_US}us", dict.fromkeys((*ONE, *MANY), 2))


@on_one_stack
def test_messages_in_both_directions_are_delayed_at_once(profiled: Profiled) -> None:
    """Messages of a rank to itself have no delay."""
    expect(profiled, f"latency={DELAY_US}us", {"sendrecv": 1, "self": 0})


@on_one_stack
def test_delays_per_byte_add_up(profiled: Profiled) -> None:
    """Four messages that are pending together pass a serial link one after the other."""
    expect(profiled, "per_byte=1000ns", {"recv": 2, "waitall": 8, "testany": 8}, size=DELAY_US)


@on_one_stack
def test_overhead_counts_for_each_send_and_each_receive(profiled: Profiled) -> None:
    expect(profiled, f"overhead={DELAY_US}us", {"recv": 4, "start": 4, "sendrecv": 2, "self": 0})


@on_one_stack
def test_slope_of_a_ring_is_its_number_of_hops(profiled: Profiled) -> None:
    """Four times around two ranks. The fastest round of up to six counts at each level."""
    best = {30_000: float("inf"), 130_000: float("inf")}
    for _ in range(3):
        for delay in best:
            measured = times(profiled, f"latency={delay}us", "recv", hops=4, rounds=2)[0]
            best[delay] = min(best[delay], measured)
        slope = (best[130_000] - best[30_000]) / 100_000
        if slope == pytest.approx(8, rel=0.1):
            break
    assert slope == pytest.approx(8, rel=0.1)


@pytest.mark.parametrize("binding", BINDINGS)
def test_fortran(profiled: Profiled, binding: str) -> None:
    source = profiled.directory / f"injected_{binding}.f90"
    source.write_text(program(binding))
    command = [str(profiled.compile(source, "-fallow-argument-mismatch"))]
    best = [float("inf")] * len(METHODS)
    delays = [1 if method == "sendrecv" else 2 for method in METHODS]
    for rounds in ROUNDS:
        done = launch(profiled, [*command, str(rounds)], f"latency={DELAY_US}us")
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
        best = [min(pair) for pair in zip(best, map(float, done.stdout.split()), strict=True)]
        if [int(time // DELAY_US) for time in best] == delays:
            break
    assert [int(time // DELAY_US) for time in best] == delays


@on_one_stack
@pytest.mark.parametrize(
    "value", ["", "nonsense", "latency=5", "latency=5ms", "latency=5us,", "latency=5us,overhead=1us", "latency=-1us"]
)
def test_malformed_value_ends_the_program(profiled: Profiled, value: str) -> None:
    command = [str(profiled.compile(PROGRAM)), "1", "8", "1", "recv"]
    for _ in range(5):  # mpirun may lose the last output of a program that ends at once
        done = launch(profiled, command, value)
        assert done.returncode != 0
        if done.stderr:
            break
    assert done.stderr.count(f"FABRICBENCH_INJECT={value} is not valid; expected latency=NUMBERus") == 1


@on_one_stack
def test_injection_beside_a_profile(profiled: Profiled) -> None:
    """The delay is time in MPI."""
    command = [str(profiled.compile(PROGRAM)), "2", "8", "1", "waitall"]
    for profile in profiled.run(command, FABRICBENCH_INJECT=f"latency={DELAY_US}us"):
        assert profile.timers["MPI_Waitall()"].calls == 2
        assert profile.timers["MPI_Waitall()"].exclusive_us >= 2 * DELAY_US
