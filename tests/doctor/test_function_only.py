# SPDX-License-Identifier: Apache-2.0
"""Tests fabrics whose times are no measurements: requirements on their times are refused, counts are accepted."""

from contextlib import nullcontext
from pathlib import Path

import pytest

from doctor.synthetic_site import GOOD, REQUIREMENTS, Site, texts
from fabricbench.doctor.site import demand_sound
from fabricbench.errors import BadInput
from fabricbench.site.lane import LaneName
from fabricbench.site.requirements import refuse_timing
from fabricbench.site.requirements_file import load_requirements
from support import fake_slurm

SLOW = """
Fabric(
    name="slow", transport="tcp", stacks=STACKS, function_only="its nodes are emulated", slowdown=SLOWDOWN,
    scheduler=Scheduler(name="slurm", launcher="srun"), nodes=Nodes(count=2), ports=("lo",),
),
"""


def slow(slowdown: str = "8") -> str:
    return GOOD + SLOW.replace("SLOWDOWN", slowdown)


def test_a_requirement_on_times_of_a_function_only_fabric_is_refused(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site(slow(), REQUIREMENTS.replace("fabric: gige", "fabric: slow"))
    fake_slurm.install(tmp_path, monkeypatch)
    (problem,) = texts("broken")
    assert problem.partition("requirements.yaml:5: ")[2] == (
        "latency bounds latency, but times on one@slow are no measurements: its nodes are emulated; "
        "expected other fabrics than slow, or a metric that counts"
    )
    with pytest.raises(BadInput, match="its nodes are emulated"):
        demand_sound("mine")
    site(slow(), REQUIREMENTS)
    assert texts("broken") == []


@pytest.mark.parametrize(
    ("old", "new", "refused"),
    [
        ("fabric: gige", "fabric: slow", True),
        (", fabric: gige", "", True),
        ("fabric: gige", "fabric: [gige, slow]", True),
        ("fabric: gige", "fabric: gige", False),
        ("metric: latency, fabric: gige, msg_size_bytes: 8}\n    at_most: 50 us",
         "metric: mpi_calls, fabric: slow}\n    at_most: 50 calls", False),
        ("at_most: 50 us", "relative_to: {fabric: slow}\n    at_most: 2", True),
        ("fabric: gige", "fabric: slow, stack: other", False),
    ],
)  # fmt: skip
def test_a_requirement_is_refused_if_it_selects_times_of_such_a_lane(
    tmp_path: Path, old: str, new: str, refused: bool
) -> None:
    file = tmp_path / "requirements.yaml"
    assert old in REQUIREMENTS
    file.write_text(REQUIREMENTS.replace(old, new))
    lanes = [LaneName("one", "gige"), LaneName("one", "slow"), LaneName("other", "gige")]
    function_only = {LaneName("one", "slow"): "its nodes are emulated"}
    with pytest.raises(BadInput, match="its nodes are emulated") if refused else nullcontext():
        refuse_timing(load_requirements(file), function_only, lanes)


@pytest.mark.parametrize("slowdown", ["0.5", "1001", "float('nan')"])
def test_a_slowdown_out_of_range_is_refused(site: Site, slowdown: str) -> None:
    site(slow(slowdown))
    assert "slowdown is" in texts("broken")[0]
    assert "expected a number from 1 to 1000" in texts("broken")[0]
