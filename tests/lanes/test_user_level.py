# SPDX-License-Identifier: Apache-2.0
"""Tests lanes of libraries below MPI: their checks, and the attestation of real launches."""

import json
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from fabricbench.campaign.read import read_campaign
from fabricbench.launch.record import Record
from fabricbench.runner.reframe import cases
from fabricbench.site.stacks import STACK_FILE, read_installed
from support.command import reframe_inside
from support.fake_site import REPOSITORY
from support.processes import clean_environment

LIBRARIES = {"sockets", "libfabric", "ucx", "verbs"}
SHORT = ("-S", "iterations=200", "-S", "limit_seconds=300")


def reframe(site: Path, *arguments: str, **extra: str) -> subprocess.CompletedProcess[str]:
    """Runs ``reframe`` on the local system of the site."""
    environment = {
        **clean_environment(),
        "RFM_CONFIG_FILES": str(site / "local/settings.py"),
        "RFM_SYSTEM": "local",
        "FABRICBENCH_SITES": str(site),
        **extra,
    }
    return reframe_inside("-c", str(REPOSITORY / "reframe_checks"), *arguments, environment=environment)


def listed_checks(site: Path) -> dict[str, Counter[str]]:
    """Counts the checks of each lane of a library below MPI."""
    process = reframe(site, "-lC")
    assert process.returncode == 0, process.stdout + process.stderr
    result: dict[str, Counter[str]] = {}
    for case in cases(process.stdout.splitlines()):
        if case.stack in LIBRARIES:
            result.setdefault(case.lane, Counter())[case.check_class] += 1
    return result


LIBFABRIC = {"FiPingpong": 2, "LibfabricConnections": 2}
UCX = {"UcxPerftest": 10, "UcxAtomic": 2}
FABRIC_OF_SHM = '        Fabric(name="shm", '


def test_a_lane_has_the_checks_of_its_programs_and_an_impossible_lane_one_skip_per_tool() -> None:
    assert listed_checks(REPOSITORY / "site") == {
        "libfabric@shm": LIBFABRIC,
        "libfabric@tcp": LIBFABRIC,
        "ucx@shm": UCX,
        "ucx@tcp": UCX,
        "sockets@tcp": {"QperfTcp": 4, "TcpStreams": 4, "TcpTogether": 2},
        "sockets@shm": {"QperfTcp": 1, "TcpStreams": 1},
        "verbs@shm": {"Perftest": 1},
        "verbs@tcp": {"Perftest": 1},
    }


def test_an_rdma_fabric_has_perftest(tmp_path: Path) -> None:
    shutil.copytree(REPOSITORY / "site", tmp_path / "site")
    settings = tmp_path / "site/local/settings.py"
    verbs = '        Fabric(name="roce", transport="verbs", stacks=LIBRARIES),\n'
    text = settings.read_text()
    assert FABRIC_OF_SHM in text
    settings.write_text(text.replace(FABRIC_OF_SHM, verbs + FABRIC_OF_SHM))
    result = listed_checks(tmp_path / "site")
    assert result["verbs@roce"] == {"Perftest": 12, "PerftestAtomic": 2, "IbvRcPingpong": 2}
    assert result["ucx@roce"] == UCX
    assert result["sockets@roce"] == {"QperfTcp": 1, "TcpStreams": 1}


def atomics(tmp_path: Path, site: Path) -> dict[tuple[str, str], Record]:
    """Runs UCX's atomics on both fabrics. Returns the records by fabric and benchmark."""
    if not (REPOSITORY / "build/stacks/ucx/stack.json").exists():
        pytest.skip("the library ucx is not set up: run `make setup`")
    campaign = tmp_path / "campaign"
    process = reframe(site, "-n", "^UcxAtomic", "-p", "^ucx$", "-r", *SHORT, FABRICBENCH_CAMPAIGN=str(campaign))
    records = [record for record in read_campaign(campaign).records if record.launch and record.launch.mode == "timed"]
    assert len(records) == 4, process.stdout
    assert process.returncode == int(any(record.state != "ok" for record in records))
    return {(r.launch.fabric, r.launch.benchmark): r for r in records if r.launch}


def test_ucx_is_attested_on_both_fabrics(tmp_path: Path) -> None:
    result = atomics(tmp_path, REPOSITORY / "site")
    for (fabric, _), record in result.items():
        assert (record.state, record.reason) == ("ok", "")
        assert record.attestation is not None
        assert record.attestation.traffic is not None
        assert record.attestation.traffic.reports == 2
        assert record.attestation.reason.startswith("by exclusion") is (fabric == "shm")
        assert [(row.metric, row.msg_size_bytes) for row in record.rows] == [("time", 8)]


def test_ucx_on_the_other_transport_is_refuted(tmp_path: Path) -> None:
    """With the settings of the two fabrics exchanged, both launches are refuted."""
    shutil.copytree(REPOSITORY / "site", tmp_path / "site")
    stacks = tmp_path / "site/stacks.py"
    text = stacks.read_text()
    memory, sockets = '{"UCX_TLS": "posix,sysv,self"}', '"tcp": {"UCX_TLS": "tcp,self"},\n                "verbs"'
    assert memory in text
    assert sockets in text
    lying = text.replace(sockets, sockets.replace("tcp,self", "posix,sysv,self"))
    stacks.write_text(lying.replace(f'"shm": {memory}', '"shm": {"UCX_TLS": "tcp,self"}'))
    result = atomics(tmp_path, tmp_path / "site")
    assert {record.state for record in result.values()} == {"refuted"}


ENDPOINTS = "fabricbench-endpoints"
CONNECTIONS = (1, 2, 16)


def connections(tmp_path: Path, site: Path) -> dict[str, Record]:
    """Runs the connections benchmark over libfabric with small messages. Returns the records by fabric."""
    installed = read_installed(REPOSITORY / "build/stacks/libfabric" / STACK_FILE)
    if installed is None or ENDPOINTS not in installed.programs:
        pytest.skip("libfabric and its headers are not set up: run `make setup`")
    campaign = tmp_path / "campaign"
    small = ("-n", "^LibfabricConnections.*%messages=small", "-p", "^libfabric$")
    fewer = ("-S", "iterations=20", "-S", f"LibfabricConnections.connections={','.join(map(str, CONNECTIONS))}")
    reframe(site, *small, "-r", *fewer, FABRICBENCH_CAMPAIGN=str(campaign))
    records = [record for record in read_campaign(campaign).records if record.launch and record.launch.mode == "timed"]
    return {record.launch.fabric: record for record in records if record.launch}


def test_connections_over_libfabric_are_attested_on_both_fabrics(tmp_path: Path) -> None:
    result = connections(tmp_path, REPOSITORY / "site")
    assert set(result) == {"shm", "tcp"}
    for fabric, record in result.items():
        assert (record.state, record.reason, record.skips) == ("ok", "", ())
        assert record.launch is not None
        assert (record.launch.tool, record.launch.benchmark) == ("micro", "multiconn")
        assert Counter(row.metric for row in record.rows) == {
            "normalised_latency": 3 * 6,
            "message_rate": 3 * 6,
            "bandwidth": 3 * 5,
            "bandwidth_mean": 3 * 5,
        }
        (client,) = (tmp_path / "campaign/launches" / record.directory).glob("witness.*.1.json")
        sockets = json.loads(client.read_text())["sockets"]
        # Each connection is one TCP connection, and the handshake uses one more.
        assert len([one for one in sockets if one["tx_segs"]]) == 1 + sum(CONNECTIONS) * (fabric == "tcp")


def test_connections_on_the_other_transport_are_refuted(tmp_path: Path) -> None:
    shutil.copytree(REPOSITORY / "site", tmp_path / "site")
    stacks = tmp_path / "site/stacks.py"
    text = stacks.read_text()
    for name in ("shm", "tcp"):
        assert text.count(f'{{"FI_PROVIDER": "{name}"}}') == 1
    memory, sockets, placeholder = '{"FI_PROVIDER": "shm"}', '{"FI_PROVIDER": "tcp"}', "{kept}"
    stacks.write_text(text.replace(memory, placeholder).replace(sockets, memory).replace(placeholder, sockets))
    result = connections(tmp_path, tmp_path / "site")
    assert {fabric: record.state for fabric, record in result.items()} == {"shm": "refuted", "tcp": "refuted"}


def test_without_the_headers_at_set_up_connections_are_skipped(tmp_path: Path) -> None:
    home = REPOSITORY / "build/stacks/libfabric"
    installed = read_installed(home / STACK_FILE)
    if installed is None:
        pytest.skip("libfabric is not set up: run `make setup`")
    programs = {name: path for name, path in installed.programs.items() if name != ENDPOINTS}
    (tmp_path / "build/stacks/libfabric").mkdir(parents=True)
    without = installed.model_copy(update={"programs": programs})
    (tmp_path / "build/stacks/libfabric" / STACK_FILE).write_text(without.model_dump_json())
    extra = {"FABRICBENCH_CAMPAIGN": str(tmp_path / "campaign"), "FABRICBENCH_BUILD": str(tmp_path / "build")}
    process = reframe(REPOSITORY / "site", "-n", "^LibfabricConnections", "-p", "^libfabric$", "-r", **extra)
    skips = read_campaign(tmp_path / "campaign").skips
    assert [(skip.benchmark, skip.reason) for skip in skips] == [
        ("multiconn", f"{ENDPOINTS} was not built because libfabric's headers were missing")
    ] * 4, process.stdout
    assert all("apt-get install libfabric-dev" in skip.hint for skip in skips)
