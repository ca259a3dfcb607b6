# SPDX-License-Identifier: Apache-2.0
"""Reads facts of nodes and MPI libraries from launch directories; the command compares them."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from fabricbench.campaign.provenance import MOST_VARIABLES, control_variables, read_provenance
from fabricbench.campaign.write import create
from fabricbench.cli import app
from fabricbench.launch.provenance import Fact

DATA = Path(__file__).resolve().parents[1] / "data"
ETH0 = {"name": "eth0", "kind": "ethernet", "model": "15b3:1017", "speed_mbit": 25000, "mtu": 9000, "state": "up"}
HOST = {"schema": 1, "host": "n1", "boot_id": "1", "kernel": "6.1", "governor": "performance", "nics": [ETH0]}


def campaign(path: Path, *hosts: dict[str, Any], blocks: int = 1, stdout: str = "mpich") -> Path:
    """A campaign with one wire-up per block on nodes with these facts. Nodes reboot between blocks."""
    create(path, site=path.parent / "local", tier="quick", seed=3)
    for block in range(blocks):
        directory = path / f"launches/b{block:03d}.s00/local/tcp/mpich/WireUp_0"
        shutil.copytree(DATA / "launches/mpich-tcp-wireup", directory)
        shutil.copyfile(DATA / "control_variables" / stdout, directory / "stdout")
        launch = json.loads((directory / "launch.json").read_text())
        (directory / "launch.json").write_text(json.dumps(launch | {"block": block}))
        (directory / "host.vm").unlink()
        for host in hosts:
            (directory / f"host.{host['host']}").write_text(
                json.dumps(host | {"boot_id": str(block), "seconds": block})
            )
    return path


@pytest.mark.parametrize(
    ("stack", "name", "value", "count"),
    [
        ("mpich", "MPIR_CVAR_IBCAST_TREE_TYPE", "kary", 7),
        ("openmpi", "btl", "^uct,openib,ofi", 8),
        ("impi", "MPIR_CVAR_INTEL_SHM_HEAP_THP", "-1", 4),
    ],
)
def test_control_variables_of_three_stacks(tmp_path: Path, stack: str, name: str, value: str, count: int) -> None:
    shutil.copyfile(DATA / "control_variables" / stack, tmp_path / "stdout")
    variables = control_variables(tmp_path)
    assert variables[name] == value
    assert len(variables) == count, "without job id, URI and session directory, which every launch has its own"


def test_too_many_and_too_long_variables_are_cut(tmp_path: Path) -> None:
    (tmp_path / "stdout").write_text("".join(f"#@cvar.v{i}={'x' * 999}\n" for i in range(MOST_VARIABLES + 9)))
    variables = control_variables(tmp_path)
    assert len(variables) == MOST_VARIABLES
    assert set(map(len, variables.values())) == {200}
    (tmp_path / "stdout").unlink()
    assert control_variables(tmp_path) == {}


def test_equal_facts_of_a_node_are_kept_once(tmp_path: Path) -> None:
    provenance = read_provenance(campaign(tmp_path / "c", HOST, HOST | {"host": "n2"}, blocks=3))
    assert {name: len(facts) for name, facts in provenance.hosts.items()} == {"n1": 1, "n2": 1}
    assert provenance.nodes["n1"][Fact("MTU", "MTU", "eth0")] == "9000"
    assert provenance.control_variables.keys() == {"mpich@tcp"}


def test_a_changed_node_is_reported(tmp_path: Path) -> None:
    path = campaign(tmp_path / "c", HOST, blocks=2)
    file = path / "launches/b001.s00/local/tcp/mpich/WireUp_0/host.n1"
    file.write_text(json.dumps(HOST | {"governor": "powersave"}))
    assert read_provenance(path).nodes["n1"][Fact("frequency", "governor")] == "performance, later powersave"


@pytest.mark.parametrize("text", ["", "[]", "{", '{"host": 1}', '{"host": "n1", "nics": [{}]}'])
def test_unreadable_node_facts_are_unknown(tmp_path: Path, text: str) -> None:
    path = campaign(tmp_path / "c", HOST)
    (path / "launches/b000.s00/local/tcp/mpich/WireUp_0/host.n2").write_text(text)
    assert read_provenance(path).hosts.keys() == {"n1"}


def command(*arguments: object) -> str:
    result = CliRunner().invoke(app, ["provenance", *map(str, arguments)])
    assert result.exit_code == 0, result.output
    return result.output


def test_the_command_names_what_differs(tmp_path: Path) -> None:
    slower = HOST | {"kernel": "6.6", "nics": [ETH0 | {"speed_mbit": 10000}]}
    here, there = campaign(tmp_path / "here", slower), campaign(tmp_path / "there", HOST, stdout="impi")
    rows = [line.split(",") for line in command(here, "--reference", there, "-f", "csv").splitlines()]
    assert rows[:3] == [
        ["rank", "kind", "fact", "where", "here", "there"],
        ["3", "link", "link rate of eth0", "n1", "10000 Mbit/s", "25000 Mbit/s"],
        ["12", "kernel", "kernel", "n1", "6.6", "6.1"],
    ]
    assert {row[1] for row in rows[3:]} == {"control variable"}
    assert "no difference is known" in command(here, "--reference", here)
    assert "link rate of eth0" in command(here)


def test_an_invalid_reference(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["provenance", str(campaign(tmp_path / "c", HOST)), "--reference", str(tmp_path)])
    assert "no campaign here" in str(result.exception)
