# SPDX-License-Identifier: Apache-2.0
"""Tests the injected delays on a simulated network, where each costs exactly its time."""

from collections.abc import Callable

import pytest

from support.simulated_profiles import SimulatedProfiles

Rounds = Callable[..., list[float]]


@pytest.fixture
def rounds(simulated_programs: SimulatedProfiles) -> Rounds:
    """Runs tests/support/injected.c; returns the microseconds of each method's round."""

    def run(inject: str, *methods: str, ranks: int = 2, size: int = 8, hops: int = 1) -> list[float]:
        options = ("1", str(size), str(hops), *methods)
        done = simulated_programs.simulator.run(ranks, "injected", *options, inject=inject)
        assert done.returncode == 0, done.stdout + done.stderr
        return [float(line.split()[1]) for line in done.stdout.splitlines()]

    return run


@pytest.mark.parametrize("ranks", [2, 3, 5])
def test_slope_of_a_ring_is_its_number_of_hops(rounds: Rounds, ranks: int) -> None:
    without, delayed = (rounds(f"latency={delay}us", "recv", ranks=ranks, hops=7)[0] for delay in (0, 50))
    assert (delayed - without) / 50 == pytest.approx(7 * ranks, rel=1e-3)


@pytest.mark.parametrize(
    ("inject", "expected"),
    [
        ("latency=100us", {"recv": 200, "waitall": 200, "start": 200, "sendrecv": 100, "self": 0}),
        ("per_byte=100ns", {"recv": 200, "waitall": 800, "start": 200, "sendrecv": 100, "self": 0}),
        ("latency=100us,per_byte=100ns", {"recv": 400, "waitall": 1000, "sendrecv": 200}),
        ("overhead=100us", {"recv": 400, "start": 400, "sendrecv": 200, "self": 0}),
    ],
)
def test_each_call_has_its_delays(rounds: Rounds, inject: str, expected: dict[str, float]) -> None:
    without = rounds("latency=0us", *expected, size=1000)
    delayed = rounds(inject, *expected, size=1000)
    differences = [after - before for before, after in zip(without, delayed, strict=True)]
    assert differences == pytest.approx(list(expected.values()), abs=0.1)
