# SPDX-License-Identifier: Apache-2.0
"""Tests the micro-benchmarks with SimGrid's SMPI, which links programs as shared objects.

All ranks run in one process. The parameters of a simulated network are known exactly, so the
tests compare the measured values with them.
"""

from pathlib import Path

import pytest

from fabricbench.parsers.tau.files import read_profile
from fabricbench.parsers.tau.timed_operations import operations_of
from fabricbench.stats.loggp import LogGP, loggp, segments
from support.micro import Values, curve, values_of
from support.simulated import Network, Simulator
from support.simulated_profiles import SimulatedProfiles

MICRO = "micro/fabricbench-micro"
MIB = 2**20
WITHIN = 0.02


@pytest.fixture
def simulator(simulated_programs: SimulatedProfiles) -> Simulator:
    return simulated_programs.simulator


@pytest.mark.parametrize(("kernel", "call", "count"), [("is", "MPI_Allreduce", 10), ("cg", "MPI_Wait", 1575)])
def test_profiled_kernels_have_their_region(
    simulator: Simulator, tmp_path: Path, kernel: str, call: str, count: int
) -> None:
    """SimGrid's MPI_Pcontrol ends programs, so the kernels mark their region by a function of the profiler."""
    program = f"npb/{kernel}/fabricbench-{kernel}"
    if not (simulator.build / program).exists():
        pytest.skip(f"{kernel} needs gfortran")
    process = simulator.run(2, program, "--class", "S", profile=tmp_path)
    assert process.returncode == 0, process.stdout + process.stderr
    for rank in operations_of(read_profile(tmp_path, 2)):
        operations = [row for row in rank.operations if row.call == call]
        assert sum(row.count for row in operations) == sum(row.matched for row in operations) == count
        assert all(row.bytes for row in operations)
        assert sum(row.seconds for row in rank.operations) == pytest.approx(rank.seconds, rel=0.01)


class Measured:
    """Runs a benchmark on a simulated network and returns its values, parsed as a campaign parses them."""

    def __init__(self, simulator: Simulator, directory: Path) -> None:
        self.simulator, self.directory = simulator, directory

    def __call__(self, network: Network, benchmark: str, *arguments: str, ranks: int = 2) -> Values:
        few = () if "--iterations" in arguments else ("--iterations", "10", "--warmup", "2")
        process = self.simulator.run(ranks, MICRO, benchmark, *arguments, *few, network=network)
        assert process.returncode == 0, process.stdout[-2000:] + process.stderr
        return values_of(process.stdout, self.directory, benchmark, ranks)


@pytest.fixture
def measured(simulator: Simulator, tmp_path: Path) -> Measured:
    return Measured(simulator, tmp_path)


INFINIBAND = Network(bytes_per_second=0.95e9, hop_us=1.0, send_overhead_us=0.8, receive_overhead_us=0.9)
GIGABIT = Network(bytes_per_second=0.11e9, hop_us=20.0, send_overhead_us=2.0, receive_overhead_us=3.0)


@pytest.mark.parametrize("network", [INFINIBAND, GIGABIT], ids=["infiniband", "gigabit"])
def test_pingpong_finds_latency_and_bandwidth(measured: Measured, network: Network) -> None:
    values = measured(network, "pingpong", "--sizes", "0,8,1024,16KiB,1MiB,4MiB")
    route = 2 * network.hop_us
    for size, latency in curve(values, "latency").items():
        wire = route + 1e6 * size / network.bytes_per_second
        overheads = network.send_overhead_us + network.receive_overhead_us if size < network.eager_bytes else 0.0
        assert latency == pytest.approx(wire + overheads, rel=WITHIN)
    assert values["bandwidth", "", 4 * MIB] == pytest.approx(network.bytes_per_second / 1e6, rel=WITHIN)


@pytest.mark.parametrize(
    ("benchmark", "full_duplex", "share"),
    [
        ("unidirectional", True, 1),
        *[(name, full, 2 if full else 1) for name in ("bidirectional", "bothway") for full in (True, False)],
    ],
)
def test_windows_reach_the_rate_of_the_link(measured: Measured, benchmark: str, full_duplex: bool, share: int) -> None:
    network = Network(bytes_per_second=0.9e9, full_duplex=full_duplex)
    values = measured(network, benchmark, "--sizes", "64KiB,1MiB")
    for size in (65536, MIB):
        assert values["bandwidth", "window=64", size] == pytest.approx(900 * share, rel=WITHIN)


def test_many_senders_reach_the_rate_of_the_receivers_link(measured: Measured) -> None:
    values = measured(Network(bytes_per_second=0.9e9), "hotspot", "--sizes", "1MiB", ranks=5)
    assert values["bandwidth", "", MIB] == pytest.approx(900, rel=WITHIN)


def fit(values: Values) -> LogGP:
    names = ("round_trip", "send_overhead", "receive_overhead", "gap")
    result = loggp(*(curve(values, name) for name in names))
    assert result is not None
    return result


@pytest.mark.parametrize(("network", "largest"), [(INFINIBAND, "32KiB"), (GIGABIT, "8KiB")], ids=["ib", "gigabit"])
def test_plogp_finds_the_parameters(measured: Measured, network: Network, largest: str) -> None:
    result = fit(measured(network, "plogp", "--max-size", largest, "--iterations", "4", "--warmup", "1"))
    assert result.latency_us == pytest.approx(2 * network.hop_us, rel=WITHIN)
    assert result.send_overhead_us == pytest.approx(network.send_overhead_us, rel=WITHIN)
    assert result.receive_overhead_us == pytest.approx(network.receive_overhead_us, rel=WITHIN)
    # In a message stream the slower side determines the gap.
    assert result.gap_us == pytest.approx(network.receive_overhead_us, rel=WITHIN)
    assert result.segments[-1].ns_per_byte == pytest.approx(1e9 / network.bytes_per_second, rel=WITHIN)


def test_plogp_locates_the_eager_limit(measured: Measured) -> None:
    network = Network(send_overhead_us=2, receive_overhead_us=3, eager_bytes=2600, handshake=5, clock_us=0.1)
    values = measured(network, "plogp", "--max-size", "16KiB", "--iterations", "4", "--warmup", "1")
    overheads = curve(values, "send_overhead")
    eager = max(size for size, time in overheads.items() if time < 3)
    rendezvous = min(size for size, time in overheads.items() if time > 20)
    assert eager < network.eager_bytes <= rendezvous
    assert rendezvous - eager <= rendezvous / 8
    assert segments(curve(values, "gap"))[-1].first in (rendezvous, 4096)


@pytest.mark.parametrize(
    ("benchmark", "option"),
    [("reuse", ()), ("unexpected", ("--queued", "0,16,256")), ("posted", ("--queued", "0,16,256"))],
)
def test_the_latency_ratio_is_1_without_registration_and_queue_search(
    measured: Measured, benchmark: str, option: tuple[str, ...]
) -> None:
    """A simulated stack neither registers memory nor searches queues."""
    ratios = measured(INFINIBAND, benchmark, "--sizes", "8,16KiB", *option)
    result = [value for (metric, _, _), value in ratios.items() if metric == "latency_ratio"]
    assert len(result) >= 10
    assert result == pytest.approx([1.0] * len(result), rel=WITHIN)


def test_overlap_and_progress_are_complete_on_an_autonomous_network(measured: Measured) -> None:
    network = Network(clock_us=0.1)
    for benchmark, metrics in (("overlap", ("overlap",)), ("progress", ("progress", "progress_tested"))):
        values = measured(network, benchmark, "--sizes", "16KiB,128KiB", "--iterations", "3", "--warmup", "1")
        for metric in metrics:
            for side in ("side=sender", "side=receiver"):
                for size in (16384, 131072):
                    assert values[metric, side, size] == pytest.approx(1.0, abs=0.1)


def test_one_connection_has_the_latency_of_a_pingpong(measured: Measured) -> None:
    values = measured(GIGABIT, "multiconn", "--sizes", "8", "--connections", "1,4,16")
    latency = measured(GIGABIT, "pingpong", "--sizes", "8")["latency", "", 8]
    normalised = [values["normalised_latency", f"connections={k}", 8] for k in (1, 4, 16)]
    assert normalised[0] == pytest.approx(latency, rel=WITHIN)
    assert normalised[0] > normalised[1] > normalised[2]


@pytest.mark.parametrize("benchmark", ["put", "get", "allgather", "reduce_scatter", "bcast"])
def test_other_benchmarks_verify(simulator: Simulator, benchmark: str) -> None:
    ranks = 2 if benchmark in ("put", "get") else 5
    process = simulator.run(
        ranks, MICRO, benchmark, "--check", "--sizes", "8,70000", "--iterations", "3", "--warmup", "1"
    )
    assert process.returncode == 0, process.stdout[-2000:] + process.stderr
    assert process.stdout.endswith("#@end=ok\n")
