# SPDX-License-Identifier: Apache-2.0
"""Commands on a campaign whose times are no measurements: `judge` and `report` refuse requirements on them."""

import shutil
from pathlib import Path

import pytest

from fabricbench.campaign.write import create
from support.command import inside
from support.fake_site import REPOSITORY

REASON = "the machines are emulated, and their RDMA devices are software"
REQUIREMENTS = """\
schema: 1
requirements:
  - id: fast
    text: an 8-byte message is fast
    select: {tool: micro, benchmark: pingpong, metric: latency, fabric: roce, msg_size_bytes: 8}
    at_most: 10 us
"""


@pytest.fixture
def campaign(tmp_path: Path) -> Path:
    path = tmp_path / "campaign"
    create(path, site=tmp_path / "rdma", tier="quick", seed=3)
    for stack in ("mpich", "openmpi"):
        place = path / f"launches/b000.s00/rdma/roce/{stack}/Micro_0"
        shutil.copytree(REPOSITORY / f"tests/data/rdma/{stack}-roce-large", place)
    return path


@pytest.mark.parametrize("command", ["judge", "report"])
def test_a_requirement_on_its_times_is_refused(campaign: Path, tmp_path: Path, command: str) -> None:
    file = tmp_path / "requirements.yaml"
    file.write_text(REQUIREMENTS)
    result = inside(command, str(campaign), "--requirements", str(file))
    assert result.returncode == 2
    (line,) = result.stderr.splitlines()
    assert line == (
        f"fabricbench: {file}:5: fast bounds latency, but times on mpich@roce are no measurements: {REASON}; "
        "expected other fabrics than roce, or a metric that counts"
    )


def test_a_comparison_of_its_lanes_says_so(campaign: Path) -> None:
    result = inside("compare", str(campaign), "mpich@roce", "openmpi@roce")
    assert result.stdout.splitlines()[-1] == f"function, no timing (all lanes): {REASON}"


def test_no_requirement_on_its_times_is_proposed(campaign: Path) -> None:
    result = inside("judge", str(campaign), "--propose")
    assert result.stdout == ""
    assert "the campaign has no value to propose a requirement from" in result.stderr
