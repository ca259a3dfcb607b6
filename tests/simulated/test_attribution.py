# SPDX-License-Identifier: Apache-2.0
"""Tests attributions on a simulated network. The expected values follow from its parameters, not from the curves."""

from dataclasses import replace
from pathlib import Path

import pytest

from fabricbench.models.attribution import attribute_run
from fabricbench.models.curves import Curves
from fabricbench.models.parts import Parts, RunParts
from support.attributed import curves_of
from support.micro import values_of
from support.simulated import Network
from support.simulated_profiles import SimulatedProfiles

MICRO = "micro/fabricbench-micro"
GIGABIT = Network(bytes_per_second=0.11e9, hop_us=20.0, send_overhead_us=2.0, receive_overhead_us=3.0)
INFINIBAND = Network(bytes_per_second=0.95e9, hop_us=1.0, send_overhead_us=0.8, receive_overhead_us=0.9)
WITHOUT_OVERHEADS = Network(bytes_per_second=0.95e9, hop_us=5.0)
POLLED = replace(GIGABIT, clock_us=0.2)
"""For programs that poll the clock during long delays."""
NETWORKS = pytest.mark.parametrize("network", [GIGABIT, INFINIBAND], ids=["gigabit", "infiniband"])
SIZES = [8 * 8**power for power in range(5)]
"""Sizes of the ping-pong of late.c. Its modes repeat everything ten times."""
TIMES, RING, BLOCK = 10, 1 << 14, 4096
WITHIN = 0.05


def latency(network: Network) -> float:
    """Returns the seconds of an empty message: two links and the overheads of both sides."""
    return 1e-6 * (2 * network.hop_us + network.send_overhead_us + network.receive_overhead_us)


class Measured:
    """Measures curves and profiles on one network."""

    def __init__(self, programs: SimulatedProfiles, directory: Path) -> None:
        self.programs, self.directory = programs, directory

    def curves(self, network: Network, benchmark: str, *options: str, ranks: int = 2, inject: str = "") -> Curves:
        """Returns the curves of messages, and that of one more benchmark."""
        outputs = []
        for name, sizes, number in (("plogp", ("--sizes", "0,8,1024,32KiB"), 2), (benchmark, options, ranks)):
            few = ("--iterations", "20" if name == "bidirectional" else "4", "--warmup", "1")
            done = self.programs.simulator.run(number, MICRO, name, *sizes, *few, network=network, inject=inject)
            assert done.returncode == 0, done.stdout[-2000:] + done.stderr
            outputs.append((name, number, values_of(done.stdout, self.directory, name, number)))
        return curves_of(outputs)

    def exchange(self, network: Network, inject: str = "") -> Curves:
        return self.curves(network, "bidirectional", "--window", "1", "--sizes", "1,1024,16KiB", inject=inject)

    def run(
        self, network: Network, curves: Curves, mode: str, *, ranks: int = 2, late_us: int = 0, inject: str = ""
    ) -> RunParts:
        operations = self.programs.operations(
            self.directory, network, mode, ranks=ranks, late_us=late_us, inject=inject
        )  # fmt: skip
        return attribute_run(operations, curves)


@pytest.fixture
def measured(simulated_programs: SimulatedProfiles, tmp_path: Path) -> Measured:
    return Measured(simulated_programs, tmp_path)


def expect(run: RunParts, expected: Parts, unexplained: float = 0.02) -> None:
    """Demands these parts of each rank, except for computation and rest."""
    for rank in run.ranks:
        found = rank.parts
        assert (found.latency, found.bandwidth) == pytest.approx((expected.latency, expected.bandwidth), rel=WITHIN)
        assert found.waiting == pytest.approx(expected.waiting, rel=WITHIN, abs=0.01 * found.total)
    assert run.unexplained < unexplained


@NETWORKS
def test_pingpong(measured: Measured, network: Network) -> None:
    """Each rank receives ten messages of each size, and waits while its own one travels."""
    run = measured.run(network, measured.exchange(network), "pingpong")
    messages, send = TIMES * len(SIZES), 1e-6 * network.send_overhead_us
    bandwidth = TIMES * sum(SIZES) / network.bytes_per_second
    waiting = messages * (latency(network) - send) + bandwidth
    fewer = waiting - (latency(network) - send + SIZES[-1] / network.bytes_per_second)  # rank 1 sends the last message
    for rank, waited in zip(run.ranks, (waiting, fewer), strict=True):
        expected = Parts(latency=messages * (latency(network) + send), bandwidth=bandwidth, waiting=waited)
        expect(RunParts((rank,)), expected)


@NETWORKS
@pytest.mark.parametrize("ranks", [2, 4])
def test_ring(measured: Measured, network: Network, ranks: int) -> None:
    run = measured.run(network, measured.exchange(network), "ring", ranks=ranks)
    expect(run, Parts(latency=TIMES * latency(network), bandwidth=TIMES * RING / network.bytes_per_second))


def test_ring_without_a_curve_of_exchanges(measured: Measured) -> None:
    """Full-duplex links carry both directions at once, so an exchange takes as long as a message."""
    run = measured.run(GIGABIT, measured.curves(GIGABIT, "barrier"), "ring")
    expect(run, Parts(latency=TIMES * latency(GIGABIT), bandwidth=TIMES * RING / GIGABIT.bytes_per_second))


@pytest.mark.parametrize("network", [GIGABIT, WITHOUT_OVERHEADS], ids=["gigabit", "without-overheads"])
def test_alltoall(measured: Measured, network: Network) -> None:
    """A rank sends three blocks to others. SimGrid also moves the rank's own block through its link.

    Where overheads are as long as the transfer of a block, they overlap, so these networks have short ones.
    """
    ranks = 4
    curves = measured.curves(network, "alltoall", "--sizes", "8,1024,4096", ranks=ranks)
    others = ranks - 1
    overheads = 1e-6 * others * (network.send_overhead_us + network.receive_overhead_us)
    run = measured.run(network, curves, "alltoall", ranks=ranks)
    expect(
        run,
        Parts(
            latency=TIMES * (2e-6 * network.hop_us + overheads),
            bandwidth=TIMES * ranks * BLOCK / network.bytes_per_second,
        ),
    )


@NETWORKS
def test_imbalanced(measured: Measured, network: Network) -> None:
    """Rank i enters each of ten barriers i pauses late. A barrier of four ranks has two rounds of messages."""
    ranks, late_us = 4, 5000
    curves = measured.curves(network, "barrier", ranks=ranks)
    run = measured.run(network, curves, "imbalanced", ranks=ranks, late_us=late_us)
    for rank in run.ranks:
        late = 1e-6 * TIMES * late_us
        assert rank.parts.waiting == pytest.approx((ranks - 1 - rank.rank) * late, rel=WITHIN, abs=1e-9)
        assert rank.parts.latency == pytest.approx(TIMES * 2 * latency(network), rel=WITHIN)
        assert rank.parts.computation == pytest.approx(rank.rank * late, rel=WITHIN, abs=1e-6)
    assert run.unexplained < 0.02


@pytest.mark.parametrize("inject", ["latency=200us", "per_byte=50ns", "latency=200us,per_byte=50ns"])
@pytest.mark.parametrize("mode", ["pingpong", "ring"])
def test_injected_delays_are_latency_and_bandwidth(measured: Measured, mode: str, inject: str) -> None:
    """With the curves of the same delays. With those of the network alone they are rest."""
    delays = dict(part.split("=") for part in inject.split(","))
    messages, size = (TIMES * len(SIZES), TIMES * sum(SIZES)) if mode == "pingpong" else (TIMES, TIMES * RING)
    added_latency = messages * float(delays.get("latency", "0us").removesuffix("us")) * 1e-6
    added_bandwidth = size * float(delays.get("per_byte", "0ns").removesuffix("ns")) * 1e-9
    network_curves, delayed_curves = (measured.exchange(POLLED, inject=chosen) for chosen in ("", inject))
    without = measured.run(POLLED, network_curves, mode).mean
    delayed = measured.run(POLLED, delayed_curves, mode, inject=inject).mean
    smallest = 0.01 * (added_latency + added_bandwidth)
    assert delayed.latency - without.latency == pytest.approx(added_latency, rel=0.1, abs=smallest)
    assert delayed.bandwidth - without.bandwidth == pytest.approx(added_bandwidth, rel=0.1, abs=smallest)
    assert abs(delayed.rest) < smallest
    rest = measured.run(POLLED, network_curves, mode, inject=inject).mean.rest
    assert rest == pytest.approx(added_latency + added_bandwidth, rel=0.1)


@pytest.mark.parametrize("kernel", ["is", "cg", "ft"])
def test_the_profiler_does_not_change_the_run_time_of_a_kernel(
    simulated_programs: SimulatedProfiles, tmp_path: Path, kernel: str
) -> None:
    """The closing error is at most 1 %."""
    program = f"npb/{kernel}/fabricbench-{kernel}"
    if not (simulated_programs.build / program).exists():
        pytest.skip(f"{kernel} needs gfortran")
    times = []
    for profile in (None, tmp_path):
        done = simulated_programs.simulator.run(4, program, "--class", "S", network=GIGABIT, profile=profile)
        assert done.returncode == 0, done.stdout + done.stderr
        (line,) = [line for line in done.stdout.splitlines() if "Time in seconds" in line]
        times.append(float(line.split("=")[1]))
    assert len(list(tmp_path.iterdir())) == 4
    assert times[1] == pytest.approx(times[0], rel=0.01)


@NETWORKS
@pytest.mark.parametrize("mode", ["pingpong", "ring", "alltoall", "imbalanced", "late_of_several"])
def test_the_profiler_does_not_change_the_run_time_of_messages(
    simulated_programs: SimulatedProfiles, tmp_path: Path, network: Network, mode: str
) -> None:
    timed, profiled = (
        simulated_programs.run_time(network, mode, ranks=4, late_us=1000, profile=profile)
        for profile in (None, tmp_path)
    )
    assert len(list(tmp_path.iterdir())) == 4
    assert profiled == pytest.approx(timed, rel=0.01)
