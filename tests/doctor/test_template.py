# SPDX-License-Identifier: Apache-2.0
"""A renamed copy of the template is a valid site, and docs/add-a-site.md shows the output of the doctor for it."""

import re
import shutil
from dataclasses import fields
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from fabricbench.attestation.ports import DEVICES
from fabricbench.cli import app
from fabricbench.setup.spack import site_choice
from fabricbench.site.fabric import Fabric, Nodes, Scheduler
from fabricbench.site.settings import REPOSITORY, lanes, load_settings, systems
from fabricbench.site.spack import read_environment
from support import fake_slurm

PAGE = REPOSITORY / "docs/add-a-site.md"


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The settings of ``ours``, copied as the page describes, without Slurm's commands on PATH."""
    root = tmp_path / "site"
    shutil.copytree(REPOSITORY / "site/_template", root / "ours")
    shutil.copytree(REPOSITORY / "site/_template", root / "_template")
    shutil.copy(REPOSITORY / "site/stacks.py", root)
    file = root / "ours/settings.py"
    file.write_text(file.read_text().replace('name="template"', 'name="ours"'))
    monkeypatch.setenv("FABRICBENCH_SITES", str(root))
    monkeypatch.setenv("FABRICBENCH_BUILD", str(tmp_path / "build"))
    monkeypatch.setenv("PATH", str(tmp_path))
    return file


def doctor() -> Result:
    return CliRunner().invoke(app, ["doctor", "--site", "--system", "ours"])


def test_the_template_is_not_listed_as_a_system(settings: Path) -> None:
    assert systems() == ["ours"]


def test_the_copy_has_no_problem_that_can_be_checked_without_slurm(settings: Path) -> None:
    result = doctor()
    assert (result.exit_code, result.stderr) == (0, ""), result.stdout
    assert "not checked: " in result.stdout
    for line in result.stdout.splitlines():
        assert not line.startswith("warning: ") or "not set up" in line


def test_a_copy_that_is_not_renamed_is_reported(settings: Path) -> None:
    settings.write_text(settings.read_text().replace('"ours"', '"template"'))
    result = doctor()
    assert result.exit_code == 2
    assert "the system is called 'template'; expected 'ours', the name of its folder" in result.stderr


def test_on_a_cluster_that_provides_everything(settings: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    up = "n1|compute|idle|none\nn2|compute|allocated|none\n"
    calls = fake_slurm.install(tmp_path, monkeypatch, partitions="compute|up\n", nodes=up)
    result = doctor()
    assert (result.exit_code, result.stderr) == (0, ""), result.stdout
    assert all("the port " in line for line in result.stdout.splitlines() if line.startswith("not checked: "))
    assert calls.read_text().count("--test-only --partition=compute --nodes=2 --exclusive --time=120") == 1


def test_every_fabric_has_what_its_lanes_need(settings: Path) -> None:
    for lane in lanes("ours"):
        assert lane.fabric.transport in lane.stack.transports, lane.name
    for fabric in load_settings(settings).system.fabrics:
        assert fabric.ports or fabric.transport not in DEVICES or fabric.attestation == "optional"
        assert fabric.nodes.count > 1


def test_spack_builds_the_stacks_of_the_settings(settings: Path) -> None:
    environment = read_environment(REPOSITORY / "spack.yaml")
    selection = site_choice("ours", environment, settings.parent / "spack/stacks.yaml")
    assert set(selection) == {lane.stack.name for lane in lanes("ours") if lane.stack.level == "mpi"}


def test_the_page_shows_the_output_of_the_doctor(
    settings: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = settings.read_text()
    roce = text.index("ROCE = Fabric(")
    down = 'scheduler=Scheduler(name="slurm", launcher="srun", access=["--partition=batch", "-w n3"])'
    text_of_site = text[roce:].replace("scheduler=SLURM", down, 1).replace("nodes=NODES", "nodes=Nodes()", 1)
    settings.write_text(text[:roce] + text_of_site)
    fake_slurm.install(
        tmp_path,
        monkeypatch,
        partitions="batch*|up\n",
        nodes="n1|batch|idle|none\nn3|batch|down*|link flaps\n",
        pmi="MPI plugin types are...\n\tnone\n\tpmi2\n",
    )
    result = doctor()
    assert result.exit_code == 2
    lines = [line.replace(str(settings), "…/site/ours/settings.py") for line in result.output.splitlines()]
    output_on_page = re.findall(r"^    (?:fabricbench|not checked): .*", PAGE.read_text(), re.MULTILINE)
    assert len(output_on_page) == 4
    for line in output_on_page:
        assert any(expected.startswith(line.strip()) for expected in lines), (line, lines)


def test_the_page_names_every_field_of_a_fabric() -> None:
    page = PAGE.read_text()
    table = set(re.findall(r"`(\w+)`", page[page.index("## The fields of a fabric") : page.index("## When a lane")]))
    names = {field.name for model in (Fabric, Scheduler, Nodes) for field in fields(model)}
    assert names <= table, names - table


def test_the_page_has_five_commands() -> None:
    page = PAGE.read_text()
    section = page[page.index("## 2. Test the site") : page.index("### What the doctor says")]
    commands = re.findall(r"^    (\w+) ", section, re.MULTILINE)
    assert commands == ["make", "fabricbench", "reframe", "fabricbench", "fabricbench"]
