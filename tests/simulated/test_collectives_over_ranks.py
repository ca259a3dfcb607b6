# SPDX-License-Identifier: Apache-2.0
"""Collectives, rank pairs and bisection of the project on networks that SimGrid simulates, on 4 to 256 ranks.

No collective is faster than latency and rate of the links allow, and none is slower than a simple algorithm by more
than a factor of ``SLOWER``. Rank pairs with links of their own do not disturb each other.
"""

from pathlib import Path

import pytest

from support.collective_limits import COLLECTIVES, Links, least_us, most_us
from support.long_form import LONG, is_long
from support.micro import Values, values_of
from support.simulated import Network, Simulator
from support.simulated_profiles import SimulatedProfiles

FEW, MANY = (4, 16), (6, 66, 256)
"""Numbers of ranks of the tests that always run, and of those that run only in the long form.

None is odd: SimGrid 3.32 then chooses an all-to-all that works on powers of two only ("alltoall pair").
"""
NETWORKS = {
    "infiniband": Network(bytes_per_second=0.95e9, hop_us=1.0, send_overhead_us=0.4, receive_overhead_us=0.4),
    "gigabit": Network(bytes_per_second=0.11e9, hop_us=20.0, send_overhead_us=2.0, receive_overhead_us=3.0),
}
LARGEST_TOTAL_BYTES = 2**30
"""The most memory of the buffers of all ranks, which are in one process."""
SLOWER = 2.0
ROUNDING = 0.99


@pytest.fixture
def simulator(simulated_programs: SimulatedProfiles) -> Simulator:
    return simulated_programs.simulator


def links_of(network: Network) -> Links:
    return Links(
        latency_us=2 * network.hop_us,
        bytes_per_us=network.bytes_per_second / 1e6,
        overhead_us=network.send_overhead_us + network.receive_overhead_us,
    )


def sizes(ranks: int) -> tuple[int, ...]:
    """Returns a small, a medium and a large size whose buffers fit into the memory."""
    return tuple(size for size in (8, 4096, 65536) if 2 * ranks * ranks * size <= LARGEST_TOTAL_BYTES)


def measured(
    simulator: Simulator, directory: Path, network: Network, ranks: int, benchmark: str, *options: str
) -> Values:
    process = simulator.run(
        ranks, "micro/fabricbench-micro", benchmark, *options, "--iterations", "2", "--warmup", "1", network=network
    )
    assert process.returncode == 0, process.stdout[-2000:] + process.stderr
    return values_of(process.stdout, directory, benchmark, ranks)


@pytest.mark.parametrize("ranks", [*FEW, *MANY])
@pytest.mark.parametrize("name", NETWORKS)
def test_collectives_keep_the_limits_of_the_network(
    simulator: Simulator, tmp_path: Path, name: str, ranks: int
) -> None:
    if ranks in MANY and not is_long():
        pytest.skip(f"takes more than ten seconds: set {LONG}=1")
    network, links = NETWORKS[name], links_of(NETWORKS[name])
    barrier = measured(simulator, tmp_path, network, ranks, "barrier")["time_max", "", None]
    assert ROUNDING * least_us("barrier", ranks, 0, links) <= barrier <= SLOWER * most_us("barrier", ranks, 0, links)
    text = ",".join(map(str, sizes(ranks)))
    for collective in COLLECTIVES:
        values = measured(simulator, tmp_path, network, ranks, collective, "--sizes", text)
        for size in sizes(ranks):
            time = values["time_max", "", size]
            # A rank may leave the barrier before the collective later than another, by the barrier's own time.
            assert time + barrier >= ROUNDING * least_us(collective, ranks, size, links), (collective, size)
            assert time <= SLOWER * most_us(collective, ranks, size, links), (collective, size)


def test_more_than_64_ranks_are_summarised(simulator: Simulator, tmp_path: Path) -> None:
    network, links = NETWORKS["infiniband"], links_of(NETWORKS["infiniband"])
    values = measured(simulator, tmp_path, network, 65, "barrier")
    assert (tmp_path / "stdout").read_text().count("call_us:") == 5
    least, mean, most = (values[metric, "", None] for metric in ("time_min", "time", "time_max"))
    assert ROUNDING * links.latency_us <= least <= mean <= most <= SLOWER * most_us("barrier", 65, 0, links)


@pytest.mark.parametrize("ranks", [8, 16])
def test_rank_pairs_with_links_of_their_own_are_as_fast_as_one(
    simulator: Simulator, tmp_path: Path, ranks: int
) -> None:
    network = NETWORKS["infiniband"]
    one, many = (
        measured(simulator, tmp_path, network, number, "pingpong", "--sizes", "8,65536") for number in (2, ranks)
    )
    for size in (8, 65536):
        assert many["latency", f"pairs={ranks // 2}", size] == pytest.approx(one["latency", "", size], rel=0.01)


@pytest.mark.parametrize("ranks", [4, 7])
def test_the_bisection_has_the_rate_of_half_the_links(simulator: Simulator, tmp_path: Path, ranks: int) -> None:
    network = NETWORKS["infiniband"]
    values = measured(simulator, tmp_path, network, ranks, "pair_bandwidth", "--sizes", "1MiB")
    for concurrency in ("alone", "at-once"):
        bandwidth = values["bisection_bandwidth", f"concurrency={concurrency} window=4", 2**20]
        expected = ranks // 2 * network.bytes_per_second / 1e6
        assert 0.9 * expected <= bandwidth <= 1.01 * expected
