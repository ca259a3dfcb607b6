# SPDX-License-Identifier: Apache-2.0
"""Libraries below MPI as lanes: which checks they get, and that a lane's label is proven on real launches."""

import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from fabricbench.core.record import Record
from fabricbench.drive.reframe import cases
from fabricbench.parsers.campaign import read_campaign
from support.fake_site import REPOSITORY
from support.processes import clean_environment

LIBRARIES = {"sockets", "libfabric", "ucx", "verbs"}
SHORT = ("-S", "iterations=200", "-S", "limit_seconds=300")


def reframe(site: Path, *arguments: str, **extra: str) -> subprocess.CompletedProcess[str]:
    """``reframe`` on the local system of the site."""
    environment = {
        **clean_environment(),
        "RFM_CONFIG_FILES": str(site / "local/settings.py"),
        "RFM_SYSTEM": "local",
        "FABRICBENCH_SITES": str(site),
        **extra,
    }
    command = [sys.executable, "-m", "fabricbench.drive.reframe", "-c", str(REPOSITORY / "reframe_checks"), *arguments]
    return subprocess.run(command, env=environment, cwd=REPOSITORY, capture_output=True, text=True, check=False)


def listed(site: Path) -> dict[str, Counter[str]]:
    """How often each check is there, by lane of a library below MPI."""
    done = reframe(site, "-lC")
    assert done.returncode == 0, done.stdout + done.stderr
    found: dict[str, Counter[str]] = {}
    for case in cases(done.stdout.splitlines()):
        if case.stack in LIBRARIES:
            found.setdefault(f"{case.stack}@{case.fabric}", Counter())[case.name.rpartition("_")[0]] += 1
    return found


UCX = {"UcxPerftest": 10, "UcxAtomic": 2}
FABRIC_OF_SHM = '        fabric("shm", '


def test_a_lane_gets_the_checks_of_its_programs_and_one_that_cannot_be_a_gap_for_each_tool() -> None:
    assert listed(REPOSITORY / "site") == {
        "libfabric@shm": {"FiPingpong": 2},
        "libfabric@tcp": {"FiPingpong": 2},
        "ucx@shm": UCX,
        "ucx@tcp": UCX,
        "sockets@tcp": {"QperfTcp": 4, "TcpStreams": 4, "TcpTogether": 2},
        "sockets@shm": {"QperfTcp": 1, "TcpStreams": 1},
        "verbs@shm": {"Perftest": 1},
        "verbs@tcp": {"Perftest": 1},
    }


def test_a_fabric_of_rdma_gets_perftest(tmp_path: Path) -> None:
    shutil.copytree(REPOSITORY / "site", tmp_path / "site")
    settings = tmp_path / "site/local/settings.py"
    verbs = '        fabric("roce", transport="verbs", environs=LIBRARIES, session=SESSION, site=SITE),\n'
    text = settings.read_text()
    assert FABRIC_OF_SHM in text
    settings.write_text(text.replace(FABRIC_OF_SHM, verbs + FABRIC_OF_SHM))
    found = listed(tmp_path / "site")
    assert found["verbs@roce"] == {"Perftest": 12, "PerftestAtomic": 2}
    assert found["ucx@roce"] == UCX
    assert found["sockets@roce"] == {"QperfTcp": 1, "TcpStreams": 1}


def atomics(tmp_path: Path, site: Path) -> dict[tuple[str, str], Record]:
    """UCX's atomics on both fabrics, by fabric and benchmark."""
    if not (REPOSITORY / "build/stacks/ucx/stack.json").exists():
        pytest.skip("the library ucx is not set up: run `make setup`")
    campaign = tmp_path / "campaign"
    done = reframe(site, "-n", "^UcxAtomic", "-p", "^ucx$", "-r", *SHORT, FABRICBENCH_CAMPAIGN=str(campaign))
    records = [record for record in read_campaign(campaign).records if record.launch and record.launch.mode == "timed"]
    assert len(records) == 4, done.stdout
    assert done.returncode == int(any(record.state != "ok" for record in records))
    return {(r.launch.fabric, r.launch.benchmark): r for r in records if r.launch}


def test_ucx_is_attested_on_both_fabrics(tmp_path: Path) -> None:
    found = atomics(tmp_path, REPOSITORY / "site")
    for (fabric, _), record in found.items():
        assert (record.state, record.reason) == ("ok", "")
        assert record.attestation is not None
        assert record.attestation.traffic is not None
        assert record.attestation.traffic.reports == 2
        assert record.attestation.reason.startswith("by exclusion") is (fabric == "shm")
        assert [(row.metric, row.msg_size_bytes) for row in record.rows] == [("time", 8)]


def test_ucx_on_the_other_transport_is_refuted(tmp_path: Path) -> None:
    """The settings of both fabrics exchanged: neither launch passes for what its lane says."""
    shutil.copytree(REPOSITORY / "site", tmp_path / "site")
    stacks = tmp_path / "site/stacks.py"
    text = stacks.read_text()
    memory, sockets = '{"UCX_TLS": "posix,sysv,self"}', '"tcp": {"UCX_TLS": "tcp,self"},\n                "verbs"'
    assert memory in text
    assert sockets in text
    lying = text.replace(sockets, sockets.replace("tcp,self", "posix,sysv,self"))
    stacks.write_text(lying.replace(f'"shm": {memory}', '"shm": {"UCX_TLS": "tcp,self"}'))
    found = atomics(tmp_path, tmp_path / "site")
    assert {record.state for record in found.values()} == {"refuted"}
