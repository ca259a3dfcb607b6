# SPDX-License-Identifier: Apache-2.0
"""Synthetic facts of a campaign on many nodes, in the files and fields of a real run, without running anything.

Every launch is an allreduce of ``fabricbench-micro`` on all nodes, on the lane ``mpich@gige``. Its facts are
consistent, so that it is attested: marked intervals, sockets between the nodes, port counters, and a summary in place
of samples.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fabricbench.campaign.write import create
from fabricbench.parsers.tools.micro import COLUMNS
from fabricbench.parsers.tools.micro.estimates import STATISTICS

SIZES = tuple(2**k for k in range(2, 15))
ITERATIONS, ALL_ITERATIONS = 200, 301
CALIBRATIONS = (*(f"calibration.{number}" for number in range(6)), *(f"barriers.{number}" for number in range(4)))
BYTES_OF_CALIBRATION, SEGMENTS_OF_CALIBRATION = 100, 4
"""What one rank sends in a calibration interval."""
MARGIN = 1.05
"""Factor of the bytes that the sockets carry over the payload."""
REQUIREMENTS = """\
schema: 1
requirements:
  - id: allreduce
    text: an allreduce of 8 B takes at most 100 us
    select: {tool: micro, benchmark: allreduce, metric: time, msg_size_bytes: 8}
    at_most: 100 us
"""
Json = dict[str, Any]


def make(path: Path, nodes: int, cores: int, launches: int) -> Path:
    """Makes a campaign of ``launches`` blocks with one launch on ``nodes`` nodes of ``cores`` ranks each."""
    site = path.parent / "large"
    site.mkdir(parents=True, exist_ok=True)
    (site / "requirements.yaml").write_text(REQUIREMENTS)
    create(path, site=site, tier="acceptance", seed=0)
    _write(path / "launches/b000.s00/large/gige/mpich/WireUp_0", _wireup(), 2, 1, "#@mpi=MPICH\n#@end=ok\n")
    for block in range(launches):
        folder = path / f"launches/b{block:03d}.s00/large/gige/mpich/MicroCollective_0"
        _write(folder, _launch(block, nodes, cores), nodes, cores, _output(block, nodes * cores))
    return path


def payload(ranks: int, size: int) -> tuple[int, int]:
    """Returns bytes and messages of all iterations of one size."""
    return 2 * (ranks - 1) * size * ALL_ITERATIONS, 2 * (ranks - 1) * ALL_ITERATIONS


def name_of(node: int) -> str:
    return f"n{node:04d}"


def address_of(node: int) -> str:
    return f"10.{node // 250}.{node % 250 + 1}.1"


def _facts(block: int, ranks: int, nodes: int) -> Json:
    return {
        **{"schema_version": 1, "block": block, "position": 1, "system": "large", "fabric": "gige", "stack": "mpich"},
        **{"transport": "tcp", "tool": "micro", "ranks": ranks, "nodes": nodes, "limit_seconds": 600.0},
        **{"environment": {"UCX_TLS": "tcp,self"}, "versions": {"mpich": "4.0"}, "ports": ["eth0"]},
    }


def _wireup() -> Json:
    return {
        **_facts(0, 2, 2),
        **{"id": "b000 mpich@gige micro wireup np=2", "benchmark": "wireup", "mode": "wireup", "argv": ["srun"]},
    }


def _launch(block: int, nodes: int, cores: int) -> Json:
    ranks = nodes * cores
    metrics = ("time", "time_min", "time_max")
    return {
        **_facts(block, ranks, nodes),
        **{"id": f"b{block:03d} mpich@gige micro allreduce small np={ranks}", "benchmark": "allreduce"},
        **{"messages": "small", "placement": "block", "node_pool": f"n[0000-{nodes - 1:04d}]"},
        "argv": ["srun", f"--nodes={nodes}", f"--ntasks={ranks}", "fabricbench-micro", "allreduce"],
        "wireup": {"launch": "b000 mpich@gige micro wireup np=2", "bytes": 4000, "segments": 40, "unix_sockets": 2},
        "expected": [
            {"benchmark": "allreduce", "case": "", "metric": one, "msg_sizes_bytes": SIZES} for one in metrics
        ],
    }


def _write(folder: Path, launch: Json, nodes: int, cores: int, stdout: str) -> None:
    folder.mkdir(parents=True)
    folder.joinpath("launch.json").write_text(json.dumps(launch))
    begin = {"schema": 1, "time": 1e9 + 60 * launch["block"], "host": name_of(0), "pid": 9, "pgid": 9, "boot_id": "b"}
    folder.joinpath("begin").write_text(json.dumps({**begin, "starttime": 1}))
    end = {"schema": 1, "time": 1e9 + 60 * launch["block"] + 20, "seconds": 20.0, "status": 0, "signal": None}
    folder.joinpath("end").write_text(json.dumps({**end, "timed_out": False, "leftovers": 0, "cpu_seconds": 1.0}))
    folder.joinpath("stdout").write_text(stdout)
    folder.joinpath("stderr").write_text("")
    for node in range(launch["nodes"]):
        host = _host(node, launch["mode"] == "wireup" if "mode" in launch else False, launch["nodes"], cores)
        folder.joinpath(f"host.{name_of(node)}").write_text(json.dumps(host, separators=(",", ":")))


def _output(block: int, ranks: int) -> str:
    """Returns the output of ``fabricbench-micro allreduce`` on more than 64 ranks."""
    head = [f"#@ranks={ranks}", f"#@reporting_ranks={ranks}", "#@synchronisation=MPI_Barrier", COLUMNS]
    rows = [line for size in SIZES for line in _rows(block, ranks, size)]
    total = [sum(counts) for counts in zip(*(payload(ranks, size) for size in SIZES), strict=True)]
    end = ["#@verified=yes", f"#@payload_bytes={total[0]}", f"#@payload_messages={total[1]}", "#@end=ok", ""]
    return "\n".join([*head, *rows, *end])


def _rows(block: int, ranks: int, size: int) -> Iterator[str]:
    bytes_, messages = payload(ranks, size)
    yield f"#@interval_bytes.{size}={bytes_}"
    yield f"#@interval_messages.{size}={messages}"
    yield f"#@iterations.{size}={ITERATIONS}"
    yield f"#@sample_stride.{size}=1"
    for at, statistic in enumerate(STATISTICS):
        yield f"allreduce,,{size},0,0,{40 + block % 7 + size / 100 + (at - 2) / 10:.3f},call_us:{statistic}"


def _host(node: int, wireup: bool, nodes: int, cores: int) -> Json:
    ranks = nodes * cores
    sent = 4000 // nodes if wireup else int(MARGIN * sum(payload(ranks, size)[0] for size in SIZES) / nodes)
    processors = [str(core) for core in range(cores)]
    half = f"0-{max(0, cores // 2 - 1)}"
    return {
        **{"schema": 1, "host": name_of(node), "boot_id": f"boot-{node}", "kernel": "5.14.0"},
        **{"cpu_model": "AMD EPYC 7763 64-Core Processor", "cores": cores, "instructions": ["avx", "avx2", "fma"]},
        "topology": {"cores": processors, "sockets": [f"0-{cores - 1}"], "numa": [half, f"{cores // 2}-{cores - 1}"]},
        **{"sockets": 1, "numa": {"nodes": 2, "distances": [[10, 12], [12, 10]]}, "governor": "performance"},
        "mitigations": dict.fromkeys(("l1tf", "mds", "meltdown", "spectre_v1", "spectre_v2"), "Not affected"),
        **{"memory_bytes": 2**38, "transparent_hugepages": "always", "hugepages": 0, "topology_address": None},
        "nics": [{"name": "eth0", "kind": "ethernet", "driver": "bnxt_en", "speed_mbit": 25000, "mtu": 9000}],
        **{"load_before": 0.5, "load_after": float(cores), "running_before": 1, "seconds": 20.0},
        **{"busy_cpu_seconds": 20.0 * cores, "own_cpu_seconds": None, "foreign_cpu_share": None},
        "counters": {"eth0": {f"{way}_bytes": [1000, 1000 + sent * 11 // 10] for way in ("tx", "rx")}},
        "witness": _witness(node, nodes, cores, sent, wireup),
    }


def _witness(node: int, nodes: int, cores: int, sent: int, wireup: bool) -> Json:
    """Returns the sum of the reports of a node's ranks, which talk to the nodes at distances of powers of two."""
    distances = [2**k for k in range((nodes - 1).bit_length())]
    peers = sorted({(node + way * distance) % nodes for distance in distances for way in (1, -1)} - {node})
    first = node * cores
    each = sent // max(1, len(peers))
    segments = max(1, each // 1000) if wireup else 2 * ALL_ITERATIONS * cores * len(SIZES) // max(1, len(peers)) + 1
    return {
        **{"reports": cores, "main_processes": cores, "cpu_microseconds": 19_900_000 * cores},
        "ranks": [{"cpus": f"0-{cores - 1}", "ranks": f"{first}-{first + cores - 1}", "count": cores}],
        "sockets": [[address_of(node), address_of(peer), 1, cores, each, each, segments, segments] for peer in peers],
        "intervals": [] if wireup else list(_intervals(nodes, cores)),
        **{"lines": [], "dropped_sockets": 0, "dropped_marks": 0, "udp_sockets": 0, "unix_sockets": 2 * cores},
        **{"devices": [], "libraries": ["libmpich.so.12", "libucp.so.0", "libucs.so.0"], "shared_maps": 0},
    }


def _intervals(nodes: int, cores: int) -> Iterator[Json]:
    for label in CALIBRATIONS:
        yield _interval(label, cores, BYTES_OF_CALIBRATION * cores, SEGMENTS_OF_CALIBRATION * cores)
    for size in SIZES:
        bytes_, messages = payload(nodes * cores, size)
        bytes_of_node = int(MARGIN * bytes_ / nodes) + BYTES_OF_CALIBRATION * cores
        segments_of_node = int(MARGIN * messages / nodes) + SEGMENTS_OF_CALIBRATION * cores
        yield _interval(str(size), cores, bytes_of_node, segments_of_node)


def _interval(label: str, ranks: int, bytes_: int, segments: int) -> Json:
    sent = {"bytes": bytes_, "segments": segments}
    return {"label": label, "ranks": ranks, "same_node": {"bytes": 0, "segments": 0}, "other_node": sent}
