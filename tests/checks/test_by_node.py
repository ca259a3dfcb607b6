# SPDX-License-Identifier: Apache-2.0
"""Requested and observed binding, and launches with one witness report per node, on the fake site."""

import json
import os
import re
import shutil
from pathlib import Path

import pytest

from fabricbench.campaign.collect import collect
from fabricbench.launch.host import Host
from fabricbench.launch.record import Record
from support import fake_site
from support.fake_site import REPOSITORY, FakeSite

SMALL = ("-c", str(REPOSITORY / "reframe_checks"), "-n", "^MicroPingpong.*messages=small", "-p", "^one$", "-r")
BINDING = """{
    "core": ("sh", "-c", 'exec taskset -c $PMI_RANK "$@"', "sh"),
    "numa": ("taskset", "-c", "0"),
}"""


@pytest.fixture
def site(tmp_path: Path) -> FakeSite:
    """A site whose mpirun binds each rank to a core, or for a NUMA node, wrongly, all ranks to one core."""
    fake = fake_site.make(tmp_path)
    if not {0, 1} <= os.sched_getaffinity(0) or not shutil.which("taskset"):
        pytest.skip("needs the processors 0 and 1, and taskset")
    stacks = fake.root / "site/stacks.py"
    stacks.write_text(stacks.read_text().replace("name=name,", f"name=name, binding={BINDING},"))
    return fake


def run(site: FakeSite, *options: str) -> tuple[str, list[Path]]:
    """Returns the output of ReFrame and the directories of the launches."""
    result = site.reframe(*SMALL, *options, FABRICBENCH_CAMPAIGN=str(site.root / "campaign"))
    directories = sorted((site.root / "campaign/launches").glob("*/*/*/*/Micro*"))
    return result.stdout, directories


def only(site: FakeSite, binding: str) -> tuple[str, Record]:
    output, (directory,) = run(site, "-S", f"MicroPingpong.binding={binding}")
    return output, collect(directory)


def test_ranks_with_the_requested_binding(site: FakeSite) -> None:
    output, record = only(site, "core")
    assert (record.state, record.reason) == ("ok", ""), output
    assert record.launch is not None
    assert (record.launch.binding, record.launch.case) == ("core", {"binding": "core"})
    assert record.launch.id.endswith("small binding=core np=2")
    assert [bound.cpus for bound in record.binding.ranks] == ["0", "1"]
    assert {row.case for row in record.rows} == {"binding=core"}


def test_ranks_with_another_binding_are_reported(site: FakeSite) -> None:
    output, record = only(site, "numa")
    problem = "a NUMA node was requested for each rank, but ranks 0, 1 on .* shared 1 core"
    assert record.state == "ok", output
    assert re.fullmatch(problem, record.reason)
    assert record.binding.problem == record.reason
    result = site.inside("report", str(site.root / "campaign"))
    assert result.returncode == 0, result.stderr
    html = (site.root / "campaign/report.html").read_text()
    assert "Binding or port not as requested" in html
    assert re.search(problem, html)


@pytest.mark.parametrize(
    ("binding", "reason"),
    [
        ("socket", "no options that bind each rank of one to a socket; add them to one in site/stacks.py"),
        ("cores", "unknown binding 'cores'; choose one of none, core, numa, socket"),
    ],
)
def test_a_binding_that_is_not_possible_is_skipped(site: FakeSite, binding: str, reason: str) -> None:
    _, (directory,) = run(site, "-S", f"MicroPingpong.binding={binding}")
    skip = json.loads((directory / "skipped.json").read_text())
    assert f"{skip['reason']}; {skip['hint']}".startswith(reason)


def test_a_launch_of_more_than_64_ranks_has_one_file_per_node(site: FakeSite) -> None:
    real = next((REPOSITORY / "build/stacks").glob("*/apps/bin/fabricbench-node"), None)
    if real is None:
        pytest.skip("set-up has not built fabricbench-node: run `make setup`")
    shutil.copy(real, site.stack("one") / "apps/bin")
    mpirun = site.stack("one") / "prefix/bin/mpirun"
    mpirun.write_text(mpirun.read_text().replace("PMI_RANK=$i", "MPI_LOCALRANKID=$i PMI_RANK=$i"))
    _, (directory,) = run(site, "-S", "MicroPingpong.ranks=65")
    record = collect(directory)
    (host,) = record.hosts
    assert {path.name for path in directory.glob("[hw]*.*")} == {f"host.{host}"}
    witness = Host.model_validate_json((directory / f"host.{host}").read_bytes()).witness
    assert witness is not None
    assert witness.rank_count == 65
    assert ",".join(group.ranks for group in witness.ranks) == "0-64"
    # The wrapper does not write the facts of the node; the CPU times that the ranks report replace them.
    assert record.foreign_cpu_share is not None
