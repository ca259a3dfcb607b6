# SPDX-License-Identifier: Apache-2.0
"""Launches of many ranks: how many files and bytes they keep, and that reading them takes no step for each rank."""

import json
import re
import sys
from collections import Counter
from pathlib import Path
from types import FrameType

import pytest

from fabricbench.campaign.collect import collect
from fabricbench.campaign.read import read_campaign
from fabricbench.launch.record import Record
from fabricbench.launch.table import table
from support import large_campaign

MOST_BYTES_PER_64_RANKS = 100_000
NODES, CORES = 100, 64


def launch_of(tmp_path: Path, nodes: int, cores: int) -> Path:
    """Makes a campaign of one launch and returns the directory of the launch."""
    campaign = large_campaign.make(tmp_path / f"{nodes}x{cores}", nodes, cores, 1)
    return campaign / "launches/b000.s00/large/gige/mpich/MicroCollective_0"


def calls_to_read(directory: Path) -> tuple[Record, int]:
    """Returns the record of a launch and the number of Python functions that were called to compute it."""
    collect(directory)  # imports and caches
    count = 0

    def called(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        count += event == "call"

    sys.setprofile(called)
    try:
        record = collect(directory)
    finally:
        sys.setprofile(None)
    return record, count


def test_a_launch_keeps_one_file_per_node_and_few_bytes_per_rank(tmp_path: Path) -> None:
    directory = launch_of(tmp_path, NODES, CORES)
    files = {path.name: path.stat().st_size for path in directory.iterdir()}
    of_nodes = Counter(match[0] for name in files if (match := re.search(r"n\d{4}", name)))
    assert of_nodes == {large_campaign.name_of(node): 1 for node in range(NODES)}
    assert len(files) - NODES == len({"launch.json", "begin", "end", "stdout", "stderr"})
    assert sum(files.values()) <= MOST_BYTES_PER_64_RANKS * NODES * CORES / 64
    record = collect(directory)
    assert (record.state, record.reason) == ("ok", "")
    assert record.attestation is not None
    assert (record.attestation.basis, record.attestation.state) == ("marks", "attested")
    assert record.foreign_cpu_share is not None
    assert record.foreign_cpu_share < 0.1
    assert len(record.rows) == 3 * len(large_campaign.SIZES)


def test_reading_takes_steps_for_nodes_and_not_for_ranks(tmp_path: Path) -> None:
    few, calls = calls_to_read(launch_of(tmp_path, NODES, 8))
    many, calls_of_many = calls_to_read(launch_of(tmp_path, NODES, CORES))
    half, calls_of_half = calls_to_read(launch_of(tmp_path, NODES // 2, CORES))
    assert (few.state, many.state, half.state) == ("ok", "ok", "ok")
    assert calls_of_many == pytest.approx(calls, rel=0.01)
    assert calls_of_many < 2.2 * calls_of_half
    assert len(many.model_dump_json()) < 1.2 * len(few.model_dump_json())


def test_rows_share_the_names_of_the_nodes(tmp_path: Path) -> None:
    campaign = large_campaign.make(tmp_path / "campaign", NODES, CORES, 3)
    records = read_campaign(campaign, recompute=True).records
    frame = table(records)
    names = " ".join(map(large_campaign.name_of, range(NODES)))
    assert frame["hosts"].unique().to_list() == [names]
    assert len(frame) == 3 * 3 * len(large_campaign.SIZES)


def record_with(directory: Path, node: int, **values: object) -> Record:
    """Changes what the ranks of one node reported, and returns the record."""
    file = directory / f"host.{large_campaign.name_of(node)}"
    facts = json.loads(file.read_text())
    facts["witness"] |= values
    file.write_text(json.dumps(facts))
    return collect(directory)


def test_a_node_that_was_left_out_is_not_attested(tmp_path: Path) -> None:
    """The launcher placed the ranks of node 7 on node 6, beside its own."""
    directory = launch_of(tmp_path, NODES, CORES)
    file_of_node_7 = directory / f"host.{large_campaign.name_of(7)}"
    sockets = json.loads(file_of_node_7.read_text())["witness"]["sockets"]
    file_of_node_7.unlink()
    for file in directory.glob("host.*"):
        file.write_text(file.read_text().replace(large_campaign.address_of(7), large_campaign.address_of(6)))
    witness = json.loads((directory / f"host.{large_campaign.name_of(6)}").read_text())["witness"]
    further = [[large_campaign.address_of(6), *socket[1:]] for socket in sockets]
    record = record_with(
        directory,
        6,
        ranks=[{"cpus": "0-63", "ranks": "384-511", "count": 2 * CORES}],
        main_processes=2 * CORES,
        sockets=[*witness["sockets"], *further],
        intervals=[one | {"ranks": 2 * CORES} for one in witness["intervals"]],
    )
    assert record.state != "ok"
    facts = json.loads((directory / "launch.json").read_text())
    (directory / "launch.json").write_text(json.dumps(facts | {"ports": []}))
    record = collect(directory)
    assert record.state == "unknown"
    assert record.reason == f"all {NODES * CORES} ranks ran on {NODES - 1} nodes, and the launch has {NODES}"


def test_another_placement_than_the_recorded_one_is_not_attested(tmp_path: Path) -> None:
    directory = launch_of(tmp_path, NODES, CORES)
    record = record_with(directory, 7, ranks=[{"cpus": "0-63", "ranks": "448-510,6399", "count": CORES}])
    assert record.state == "unknown"
    assert record.reason == "the 64 ranks 448 to 6399 were on n0007, which is not the placement block"


@pytest.mark.parametrize(("within", "state"), [(0, "ok"), (1, "refuted")])
def test_bytes_inside_a_node_on_the_wire_refute_a_lane_with_shared_memory(
    tmp_path: Path, within: int, state: str
) -> None:
    directory = launch_of(tmp_path, NODES, CORES)
    launch = json.loads((directory / "launch.json").read_text())
    (directory / "launch.json").write_text(json.dumps(launch | {"variant": "local-shm"}))
    for node in range(NODES):
        file = directory / f"host.{large_campaign.name_of(node)}"
        facts = json.loads(file.read_text())
        for interval in facts["witness"]["intervals"]:
            if interval["label"] == "16384":
                interval["same_node"] = {name: within * count for name, count in interval["other_node"].items()}
        file.write_text(json.dumps(facts))
    record = collect(directory)
    assert record.state == state, record.reason
    assert ("these bytes passed between ranks of one node" in record.reason) is (state == "refuted")
