# SPDX-License-Identifier: Apache-2.0
"""A site with fabrics of Slurm and of this machine, whose settings a test may change."""

from collections.abc import Callable
from pathlib import Path
from textwrap import dedent, indent

import pytest

from fabricbench.doctor.site import site_problems

STACKS = """\
from fabricbench.site.stacks import Stack

STACKS = {
    stack.name: stack
    for stack in (
        Stack(name="one", pmi="pmi2", transports={"tcp": {}, "verbs": {}}),
        Stack(name="two", pmi="pmix", transports={"tcp": {}}),
    )
}
"""

SETTINGS = """\
from fabricbench.launch.configuration import reframe_configuration
from fabricbench.site.fabric import Fabric, Nodes, Scheduler
from fabricbench.site.system import System

STACKS = ["one", "two"]


def slurm(name, transport="tcp", stacks=STACKS, count=2, ports=("lo",), scheduler="slurm", processor=None, **options):
    scheduler = Scheduler(name=scheduler, launcher="srun", **options)
    nodes = Nodes(count=count, processor=processor)
    return Fabric(name=name, transport=transport, stacks=stacks, scheduler=scheduler, nodes=nodes, ports=ports)


def here(name, transport, scheduler="local", count=1, ports=()):
    return Fabric(
        name=name, transport=transport, stacks=STACKS, scheduler=Scheduler(name=scheduler), nodes=Nodes(count=count),
        ports=ports,
    )


SYSTEM = System(
    name="mine",
    file=__file__,
    description="a cluster",
    fabrics=[
{fabrics}
    ],
    stacks=["one", "two"],
)
site_configuration = reframe_configuration(SYSTEM)
"""

GOOD = 'slurm("gige", access=["--partition=gige"]),'

REQUIREMENTS = """\
schema: 1
requirements:
  - id: latency
    text: latency at 8 B
    select: {tool: micro, benchmark: pingpong, metric: latency, fabric: gige, msg_size_bytes: 8}
    at_most: 50 us
"""

Site = Callable[..., Path]


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    """Writes the site ``mine`` with the given fabrics and returns its settings file."""
    monkeypatch.setenv("FABRICBENCH_SITES", str(tmp_path / "site"))
    monkeypatch.setenv("FABRICBENCH_BUILD", str(tmp_path / "build"))
    monkeypatch.delenv("MODULEPATH", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))

    def write(fabrics: str = GOOD, requirements: str = REQUIREMENTS) -> Path:
        folder = tmp_path / "site/mine"
        folder.mkdir(parents=True, exist_ok=True)
        (tmp_path / "site/stacks.py").write_text(STACKS)
        (folder / "settings.py").write_text(SETTINGS.format(fabrics=indent(dedent(fabrics), " " * 8)))
        (folder / "requirements.yaml").write_text(requirements)
        return folder / "settings.py"

    return write


def texts(state: str, chosen: tuple[str, ...] = ()) -> list[str]:
    """Returns the problems of this state without the file's name, except those of stacks that are not set up."""
    problems = [problem for problem in site_problems("mine", chosen) if "not set up" not in problem.text]
    for problem in problems:
        assert "\n" not in problem.text
    return [p.text.partition("settings.py: ")[2] or p.text for p in problems if p.state == state]
