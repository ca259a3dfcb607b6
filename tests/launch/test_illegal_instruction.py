# SPDX-License-Identifier: Apache-2.0
"""A launch that SIGILL ended says what its program was built for and what the nodes' processors lack."""

import json
from pathlib import Path

import pytest

from fabricbench.campaign.collect import collect
from fabricbench.launch.facts import Launch
from fabricbench.launch.host import Host
from fabricbench.launch.illegal_instruction import illegal_instruction
from fabricbench.site.targets import LEVELS, Target
from support.launches import add_launch, launch_of

V3 = Target(name="x86-64-v3", instructions=LEVELS["x86-64-v3"])
LACKING = tuple(flag for flag in LEVELS["x86-64-v3"] if flag not in ("avx2", "fma"))


def launch(**changes: object) -> Launch:
    return launch_of("mpich-tcp-npb-cg", **{"target": V3, **changes})


@pytest.mark.parametrize(
    ("of", "hosts", "reason"),
    [
        (
            launch(),
            [Host(host="n1", instructions=LACKING), Host(host="n2", instructions=LEVELS["x86-64-v3"])],
            "fabricbench-cg was built for x86-64-v3, the processor of n1 lacks avx2, fma; "
            "run: fabricbench setup --target x86-64-v2",
        ),
        (
            launch(case={"code": "nasa"}),
            [Host(host="n1", instructions=LACKING)],
            "fabricbench-cg was built for x86-64-v3, the processor of n1 lacks avx2, fma; "
            "run: fabricbench setup --target x86-64-v2, then name the source again",
        ),
        (
            launch(),
            [Host(host="n1", instructions=LEVELS["x86-64-v4"])],
            "fabricbench-cg was built for x86-64-v3, whose instructions the nodes have",
        ),
        (launch(), [Host(host="n1")], "fabricbench-cg was built for x86-64-v3"),
        (launch(target=None), [], "fabricbench-cg was built for another processor than that of the nodes"),
    ],
)
def test_the_reason_and_the_hint(of: Launch, hosts: list[Host], reason: str) -> None:
    assert illegal_instruction(of, hosts) == f"illegal instruction: {reason}"


@pytest.mark.parametrize(
    ("end", "stderr", "is_illegal"),
    [
        ({"signal": 4, "status": None}, "", True),
        ({"status": 132}, "", True),
        ({"status": 255}, "=   KILLED BY SIGNAL: 4 (Illegal instruction)\n", True),
        ({"status": 1}, "mpirun: process rank 1 on node n1 exited on signal 4 (Illegal instruction).\n", True),
        ({"status": 139}, "exited on signal 11 (Segmentation fault)\n", False),
        ({"status": None, "timed_out": True}, "Illegal instruction\n", False),
    ],
)
def test_how_launchers_report_it(tmp_path: Path, end: dict[str, object], stderr: str, is_illegal: bool) -> None:
    directory = add_launch(tmp_path, "mpich-tcp-npb-cg", "b000.s00/local/tcp/mpich/NPB_1")
    facts = json.loads((directory / "end").read_text())
    (directory / "end").write_text(json.dumps(facts | end))
    (directory / "stderr").write_text(stderr)
    record = collect(directory)
    assert record.state == ("lost" if "timed_out" in end else "failed")
    assert ("illegal instruction: fabricbench-cg was built for another" in record.reason) == is_illegal
