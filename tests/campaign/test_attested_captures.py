# SPDX-License-Identifier: Apache-2.0
"""Attests captured launches that used the transport of their lane, and captured launches that did not."""

import json
import shutil
from pathlib import Path

import pytest

from fabricbench.campaign.collect import collect
from fabricbench.launch.record import Attestation, Record
from fabricbench.launch.witness import read_reports, traffic
from support.launches import refute_beyond_physics

LAUNCHES = Path(__file__).resolve().parents[1] / "data/launches"
NAMES = sorted(path.name for path in LAUNCHES.iterdir())
HONEST = [name for name in NAMES if not name.startswith(("lying-", "failed-"))]


def attestation_of(record: Record) -> Attestation:
    assert record.attestation is not None
    return record.attestation


@pytest.mark.parametrize("name", HONEST)
def test_a_launch_that_used_its_transport_is_attested(name: str) -> None:
    record = collect(LAUNCHES / name)
    assert (record.state, record.reason) == ("ok", "")
    assert attestation_of(record).state == "attested"


@pytest.mark.parametrize(
    ("name", "by", "sizes"),
    [
        ("impi-tcp-micro-pingpong-small-marked", "marks", 16),
        ("openmpi-shm-micro-pingpong-small-marked", "marks", 16),
        ("impi-tcp-imb-pt2pt-small-lines", "lines", 16),  # 20 repetitions are too few for small messages
        ("mpich-tcp-osu57-latency-small-lines", "lines", 15),
        ("impi-tcp-micro-pingpong-small", "launch", 0),
        ("mpich-tcp-imb-pt2pt-small", "launch", 0),
    ],
)
def test_the_basis_of_an_attestation(name: str, by: str, sizes: int) -> None:
    """Launches of versions without interval marks are attested by the rule for whole launches."""
    attestation = attestation_of(collect(LAUNCHES / name))
    assert (attestation.basis, len(attestation.parts)) == (by, sizes)
    assert {one.state for one in attestation.parts} <= {"attested"}


def test_marked_intervals_of_a_real_launch_are_exact() -> None:
    """Each message is one segment: 2 x (20 timed + 100 warm-up + 1 verified) messages and one retransmission."""
    attestation = attestation_of(collect(LAUNCHES / "impi-tcp-micro-pingpong-small-marked"))
    assert {(one.segments, one.part.payload.messages) for one in attestation.parts} == {(242, 242), (243, 242)}


def test_launches_with_plausible_times_stay_attested() -> None:
    records = tuple(collect(LAUNCHES / name) for name in HONEST)
    assert refute_beyond_physics(records) == records


# bytes, segments and connections on sockets
WITNESSED = {
    "sockets-gige-iperf3-streams-2": (120438894, 83193, 3),
    "mpich-gige-osu74-fan-in-small": (139251928, 141603, 16),
    "impi-tcp-micro-pingpong-small-marked": (8028114, 4094, 1),
    "openmpi-shm-micro-pingpong-small-marked": (10405, 48, 2),
    "mpich-tcp-osu57-latency-small-lines": (14699733, 13698, 8),
    "impi-tcp-imb-pt2pt-small-lines": (11190529, 6226, 2),
    "impi-tcp-imb-nbc-allreduce-scatter-small": (1330936, 10778, 2),
    "impi-tcp-imb-nbc-ibarrier": (28233, 316, 2),
    "impi-tcp-imb-rma-accumulate-small": (1219337, 4612, 2),
    "impi-tcp-imb-rma-atomics": (114440, 538, 2),
    "impi-tcp-imb-rma-put-small": (25064904, 26383, 4),
    "impi-tcp-imb-windows-small": (18885848, 98020, 2),
    "mpich-shm-imb-rma-truly-passive-put-small": (0, 0, 0),
    "mpich-tcp-imb-mt-pt2pt-small": (979920, 5793, 8),
    "mpich-tcp-imb-p2p-pairs-small": (686148, 4201, 8),
    "mpich-tcp-imb-pairs-small": (943129, 6117, 8),
    "libfabric-shm-multiconn-small": (486, 16, 1),
    "libfabric-tcp-multiconn-small": (1357874, 10284, 6),
    "libfabric-shm-pingpong-small": (300, 40, 4),
    "libfabric-tcp-pingpong-large": (1317461, 117, 2),
    "sockets-tcp-iperf3-streams-4": (1251739245, 21333, 5),
    "sockets-tcp-iperf3-together": (4202132678, 70887, 8),
    "sockets-tcp-qperf-pingpong-small": (1054134659, 217001, 9),
    "sockets-tcp-qperf-stream-large": (4409487654, 71076, 9),
    "ucx-shm-pingpong-small": (4824, 325, 6),
    "ucx-shm-wireup": (776, 47, 1),
    "ucx-tcp-fetch-and-add": (61875, 2087, 3),
    "ucx-tcp-get-small": (32605067, 13597, 15),
    "ucx-tcp-pingpong-small": (65254944, 44835, 30),
    "ucx-tcp-put-stream-large": (6920867, 1245, 9),
    "impi-shm-npb-ft": (0, 0, 0),
    "mpich-tcp-nasa-cg": (4706629, 2559, 8),
    "mpich-tcp-nasa-is": (2939181, 446, 8),
    "mpich-tcp-npb-cg": (4707916, 2572, 8),
    "openmpi-tcp-npb-cg-profiled": (23373792, 2640, 4),
    "mpich-tcp-npb-is-alone": (102, 4, 2),
    "openmpi-tcp-npb-is": (1490512, 188, 4),
    "impi-tcp-imb-allreduce-small-16k": (56148722, 45823, 2),
    "mpich-shm-imb-alltoall-large-32k": (0, 0, 0),
    "mpich-tcp-imb-pt2pt-small-16k": (224589652, 216129, 8),
    "openmpi-tcp-micro-pingpong-large-32k": (286295318, 6848, 3),
    "failed-mpich-shm-osu74-acc": (0, 0, 0),
    "mpich-shm-osu57-multi-lat-small": (0, 0, 0),
    "mpich-shm-osu74-reduce-scatter-small": (0, 0, 0),
    "mpich-tcp-osu532-allreduce-large": (45481703, 3068, 8),
    "mpich-tcp-osu57-bw-large": (396633457, 11889, 8),
    "mpich-tcp-osu74-latency-small": (88335090, 91817, 8),
    "openmpi-shm-osu532-barrier": (10407, 48, 2),
    "openmpi-shm-osu57-put-bibw-large": (10405, 48, 2),
    "openmpi-tcp-osu57-get-acc-latency-small": (14948105, 10626, 3),
    "openmpi-tcp-osu74-fop": (74650, 1799, 4),
    "openmpi-tcp-osu74-mbw-mr-large": (2379129585, 60203, 4),
    "openmpi-tcp-osu74-put-latency-small": (7657075, 7772, 3),
    "failed-openmpi-tcp-wrong-answer": (13406, 539, 3),
    "impi-shm-imb-collectives-small": (0, 0, 0),
    "impi-tcp-imb-collectives-small": (18843456, 138332, 4),
    "impi-tcp-micro-pingpong-small": (566606, 2957, 1),
    "lying-impi-tcp-imb-allreduce-large": (409676420, 10888, 2),
    "lying-impi-tcp-imb-allreduce-small": (11551, 42, 3),
    "lying-impi-tcp-imb-barrier": (10748, 16, 2),
    "lying-impi-tcp-imb-bcast-small": (35016, 881, 2),
    "lying-impi-tcp-imb-collectives-large": (1998894720, 63291, 4),
    "lying-impi-tcp-imb-collectives-small": (11482576, 46383, 4),
    "lying-impi-tcp-micro-pingpong-small": (565391, 2910, 1),
    "lying-mpich-tcp-imb-collectives-small": (0, 0, 0),
    "lying-mpich-tcp-micro-pingpong-large": (0, 0, 0),
    "lying-mpich-tcp-micro-pingpong-small": (0, 0, 0),
    "lying-openmpi-shm-micro-pingpong-large": (293751237, 7830, 3),
    "lying-openmpi-shm-micro-pingpong-small": (562728, 3002, 3),
    "mpich-tcp-imb-collectives-small": (13686205, 129243, 8),
    "mpich-tcp-imb-pt2pt-large": (2487967962, 295530, 8),
    "mpich-tcp-imb-pt2pt-small": (14827885, 81242, 8),
    "mpich-tcp-wireup": (408, 16, 8),
    "openmpi-shm-micro-pingpong-small": (10393, 48, 2),
    "openmpi-shm-wireup": (10393, 48, 2),
    "openmpi-tcp-micro-pingpong-large": (293751237, 7834, 3),
}


def test_every_launch_with_a_witness_is_listed() -> None:
    assert set(WITNESSED) == {name for name in NAMES if list((LAUNCHES / name).glob("witness.*"))}


def launch_ranks(name: str) -> int:
    return int(json.loads((LAUNCHES / name / "launch.json").read_text())["ranks"])


@pytest.mark.parametrize("name", WITNESSED)
def test_the_traffic_in_the_witness_reports(name: str) -> None:
    carried = traffic(read_reports(LAUNCHES / name))
    assert carried is not None
    assert (carried.bytes, carried.segments, carried.connections) == WITNESSED[name]
    assert (carried.reports, carried.dropped, carried.devices) == (launch_ranks(name), 0, ())
    assert sum(carried.by_peer.values()) == carried.bytes


def test_a_connection_between_ranks_is_counted_once() -> None:
    """Both ranks report their one connection; each rank has another one to its daemon. Counted by hand."""
    reports = read_reports(LAUNCHES / "openmpi-tcp-micro-pingpong-large")
    ends = {(report.rank, end.peer): end for report in reports for end in report.sockets}
    assert sorted((rank or 0, end.tx_bytes, end.rx_bytes) for (rank, _), end in ends.items()) == [
        (0, 629, 385),
        (0, 146874486, 146874764),
        (1, 587, 385),
        (1, 146874764, 146874487),
    ]
    assert WITNESSED["openmpi-tcp-micro-pingpong-large"][0] == (629 + 385) + (587 + 385) + (146874487 + 146874764)
    assert WITNESSED["openmpi-tcp-micro-pingpong-large"][1] == (11 + 11) + (11 + 11) + (3891 + 3899)


@pytest.mark.parametrize(
    ("name", "payload"),
    [
        ("lying-mpich-tcp-micro-pingpong-small", (495374, 2904)),
        ("lying-mpich-tcp-micro-pingpong-large", (293629952, 1780)),
        ("lying-mpich-tcp-imb-collectives-small", (5723200, 58000)),
    ],
)
def test_mpich_through_shared_memory_on_a_tcp_lane(name: str, payload: tuple[int, int]) -> None:
    record = collect(LAUNCHES / name)
    attestation = attestation_of(record)
    assert record.state == attestation.state == "refuted"
    assert attestation.share == 0.0
    assert attestation.payload is not None
    assert (attestation.payload.bytes, attestation.payload.messages) == payload
    assert record.reason == (
        "only 0.0% of the payload was on TCP: sockets carried 0 bytes in 0 segments, "
        f"the benchmark moved at least {payload[0]} bytes in {payload[1]} messages"
    )


@pytest.mark.parametrize(
    ("name", "bytes_", "segments"),
    [
        ("lying-openmpi-shm-micro-pingpong-small", 562728, 3002),
        ("lying-openmpi-shm-micro-pingpong-large", 293751237, 7830),
    ],
)
def test_open_mpi_over_tcp_on_a_shm_lane(name: str, bytes_: int, segments: int) -> None:
    record = collect(LAUNCHES / name)
    assert record.state == "refuted"
    assert record.reason == (
        f"sockets carried {bytes_} bytes in {segments} segments, "
        "more than wire-up accounts for (1986 bytes in 44 segments)"
    )


def test_intel_mpi_with_small_collectives_through_shared_memory() -> None:
    """Only alltoall and allgather use sockets: too few messages for four collectives and their barriers."""
    record = collect(LAUNCHES / "lying-impi-tcp-imb-collectives-small")
    assert record.state == "refuted"
    assert record.reason.startswith("only ")


def test_intel_mpi_with_some_collectives_through_shared_memory() -> None:
    """Alltoall and allgather use sockets and move enough for the whole launch; the short times refute the launch."""
    alone = collect(LAUNCHES / "lying-impi-tcp-imb-collectives-large")
    assert alone.state == "ok"
    pingpong = collect(LAUNCHES / "lying-impi-tcp-micro-pingpong-small")
    first, second = refute_beyond_physics((pingpong, alone))
    assert first == pingpong
    assert second.state == attestation_of(second).state == "refuted"
    assert second.reason.startswith("allreduce of 2048 B took 0.5 us, less than 0.5")
    assert "the lane's own one-way latency of 4.3965 us" in second.reason
    assert second.rows == alone.rows


@pytest.mark.parametrize(
    ("name", "share"),
    [
        ("lying-impi-tcp-imb-allreduce-small", (11551 - 137) / 13104000),
        ("lying-impi-tcp-imb-bcast-small", (35016 - 137) / 6552000),
        ("lying-impi-tcp-imb-barrier", (16 - 4) / 800),
    ],
)
def test_a_collective_through_shared_memory_is_refuted_in_its_own_launch(name: str, share: float) -> None:
    record = collect(LAUNCHES / name)
    assert record.state == "refuted"
    assert attestation_of(record).share == share
    assert record.reason.startswith(f"only {share:.1%} of the payload was on TCP: ")


def test_one_size_through_shared_memory_is_refuted_by_its_time_only() -> None:
    alone = collect(LAUNCHES / "lying-impi-tcp-imb-allreduce-large")
    assert alone.state == "ok"
    pingpong = collect(LAUNCHES / "lying-impi-tcp-micro-pingpong-small")
    refuted = refute_beyond_physics((pingpong, alone))[1]
    assert refuted.reason.startswith("allreduce of 16384 B took 1.81 us, less than 0.5 of")


def test_intel_mpi_on_sockets_alone_is_slower_than_a_message() -> None:
    names = ("impi-tcp-micro-pingpong-small", "impi-tcp-imb-collectives-small")
    assert [r.state for r in refute_beyond_physics(tuple(collect(LAUNCHES / name) for name in names))] == ["ok", "ok"]


@pytest.mark.parametrize("name", ["mpich-tcp-imb-pt2pt-small", "openmpi-tcp-micro-pingpong-large"])
def test_tcp_under_the_label_shm_is_refuted(tmp_path: Path, name: str) -> None:
    """A launch on TCP is refuted after its label changes to shm."""
    directory = Path(shutil.copytree(LAUNCHES / name, tmp_path / "launch"))
    facts = json.loads((directory / "launch.json").read_text())
    (directory / "launch.json").write_text(json.dumps(facts | {"fabric": "shm", "transport": "shm"}))
    assert collect(directory).state == "refuted"


def test_shm_under_the_label_tcp_is_refuted(tmp_path: Path) -> None:
    directory = Path(shutil.copytree(LAUNCHES / "openmpi-shm-micro-pingpong-small", tmp_path / "launch"))
    facts = json.loads((directory / "launch.json").read_text())
    (directory / "launch.json").write_text(json.dumps(facts | {"fabric": "tcp", "transport": "tcp"}))
    assert collect(directory).state == "refuted"


@pytest.mark.parametrize("file", ["witness.vm.0.json", "witness.vm.1.json"])
def test_the_report_of_one_rank_gives_the_traffic_of_both(tmp_path: Path, file: str) -> None:
    directory = Path(shutil.copytree(LAUNCHES / "mpich-tcp-imb-pt2pt-small", tmp_path / "launch"))
    whole = attestation_of(collect(directory)).traffic
    (directory / file).unlink()
    record = collect(directory)
    carried = attestation_of(record).traffic
    assert whole is not None
    assert carried is not None
    assert (record.state, carried.reports) == ("ok", 1)
    assert carried.bytes == pytest.approx(whole.bytes, rel=1e-4)


SHARP = (
    "impi-tcp-imb-allreduce-small-16k",
    "impi-tcp-imb-nbc-allreduce-scatter-small",
    "impi-tcp-imb-rma-put-small",
    "impi-tcp-micro-pingpong-small",
    "mpich-tcp-imb-mt-pt2pt-small",
    "mpich-tcp-imb-p2p-pairs-small",
    "mpich-tcp-imb-pairs-small",
    "mpich-tcp-imb-pt2pt-small-16k",
    "mpich-tcp-npb-cg",
    "mpich-tcp-osu532-allreduce-large",
    "mpich-tcp-osu57-bw-large",
    "mpich-tcp-osu74-latency-small",
    "openmpi-tcp-osu57-get-acc-latency-small",
    "openmpi-tcp-osu74-mbw-mr-large",
    "openmpi-tcp-osu74-put-latency-small",
    "openmpi-tcp-micro-pingpong-large-32k",
    "openmpi-tcp-npb-is",
)


@pytest.mark.parametrize("name", SHARP)
@pytest.mark.parametrize("share", [0.0, 0.5, 0.75])
def test_missing_traffic_refutes_a_launch(tmp_path: Path, name: str, share: float) -> None:
    """A launch is refuted if a quarter of its traffic is missing, because the least payload is close to the traffic."""
    directory = Path(shutil.copytree(LAUNCHES / name, tmp_path / "launch"))
    assert collect(directory).state == "ok"
    for file in directory.glob("witness.*"):
        report = json.loads(file.read_text())
        for end in report["sockets"]:
            end |= {count: int(share * end[count]) for count in ("tx_bytes", "rx_bytes", "tx_segs", "rx_segs")}
        file.write_text(json.dumps(report))
    assert collect(directory).state == "refuted"
