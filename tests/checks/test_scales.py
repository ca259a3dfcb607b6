# SPDX-License-Identifier: Apache-2.0
"""The scales of the checks on the fake site: which tier has which, what is skipped, and the nodes of each launch."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fabricbench.site.node_choice import chosen_nodes
from support import fake_site
from support.fake_site import FakeSite

ONE = ("--lane", "one@shm")
NAMES = ("n1", "n2", "n3", "n4")


@pytest.fixture
def site(tmp_path: Path) -> FakeSite:
    return fake_site.make(tmp_path)


@pytest.fixture
def cluster(site: FakeSite) -> FakeSite:
    """A fabric of four nodes of two cores, on which the launcher gets the names of the nodes."""
    site.change_fabric(f"nodes=Nodes(count=4, cores=2, names={list(NAMES)})")
    stacks = site.root / "site/stacks.py"
    options = 'placement={"block": ("-ppn", "{per_node}"), "cyclic": ("-ppn", "1")}, hosts=("-hosts", "{hosts}")'
    stacks.write_text(stacks.read_text().replace("name=name,", f"name=name, {options},"))
    mpirun = site.stack("one") / "prefix/bin/mpirun"
    ignored = 'n=$2; shift 2; while [ "${1#-}" != "$1" ]; do shift 2; done;'
    mpirun.write_text(mpirun.read_text().replace("n=$2; shift 2", ignored))
    return site


def forecast(site: FakeSite, *options: str) -> dict[str, Any]:
    result = site.inside("run", str(site.root / "none"), "--system", "fake", *ONE, *options, "--dry-run", "-f", "json")
    assert result.returncode == 0, result.stdout + result.stderr
    parsed: dict[str, Any] = json.loads(result.stdout)
    return parsed


def scales(site: FakeSite, tier: str, *options: str) -> dict[str, str]:
    """Returns the scales of the launches of four checks, ``2x1 4x2``."""
    checks = ("MicroBarrier", "MicroFurtherCollective", "PairLatency", "MicroPingpong")
    rows = forecast(site, *(word for check in checks for word in ("--check", check)), "--tier", tier, *options)
    by_check: dict[str, set[str]] = {}
    for row in rows["launches"]:
        by_check.setdefault(row["check"], set()).add(f"{row['nodes']}x{row['ranks'] // row['nodes']}")
    return {check: " ".join(sorted(by_check[check])) for check in checks if check in by_check}


def facts(campaign: Path, name: str) -> Iterator[dict[str, Any]]:
    for file in sorted(campaign.glob(f"launches/*/*/*/*/{name}*/*.json")):
        if file.name in ("launch.json", "skipped.json"):
            yield {"file": file.name, "folder": file.parent, **json.loads(file.read_text())}


def reframe(site: FakeSite, name: str, *options: str, **environment: str) -> list[dict[str, Any]]:
    """Runs checks; returns the facts of their launches and skips."""
    campaign = site.root / "campaign"
    arguments = ("-c", "reframe_checks", "-n", f"^{name}", "-p", "^one$", *options, "-r")
    site.reframe(*arguments, FABRICBENCH_CAMPAIGN=str(campaign), **environment)
    return list(facts(campaign, name))


def test_tiers_on_four_nodes(cluster: FakeSite) -> None:
    assert scales(cluster, "standard") == {
        "MicroBarrier": "1x2 2x1 2x2 4x1 4x2",
        "MicroFurtherCollective": "2x1 4x2",
        "PairLatency": "4x1",
        "MicroPingpong": "2x1",
    }
    assert scales(cluster, "quick") == {"PairLatency": "4x1", "MicroPingpong": "2x1"}


def test_requested_scales_replace_those_of_the_tier(cluster: FakeSite) -> None:
    assert scales(cluster, "standard", "--scale", "3x1,2x2", "--scale", "4x1") == {
        "MicroBarrier": "2x2 3x1 4x1",
        "MicroFurtherCollective": "2x2 3x1 4x1",
        "PairLatency": "3x1 4x1",
        "MicroPingpong": "2x1",
    }


def test_what_cannot_run_is_skipped_with_a_hint(cluster: FakeSite) -> None:
    request = ("--tier", "standard", "--scale", "8x1,4x3,3x2,2x2", "--check", "MicroBarrier", "--check", "PairLatency")
    skips = forecast(cluster, *request)["skips"]
    assert {(skip["tool"], skip["reason"]) for skip in skips} == {
        ("micro", "8x1 needs 8 nodes, the fabric shm has 4"),
        ("micro", "4x3 needs 3 cores on each node, which has 2"),
        ("micro", "pair_latency needs one rank on each node, not 3 (4x3)"),
        ("micro", "pair_latency needs one rank on each node, not 2 (3x2)"),
        ("micro", "pair_latency needs one rank on each node, not 2 (2x2)"),
    }
    assert all("fabricbench run --scale" in skip["hint"] for skip in skips)


def test_one_node_keeps_its_launches(site: FakeSite) -> None:
    """Two ranks on one node have the id and the number of nodes of earlier versions."""
    (launch,) = reframe(site, "MicroBarrier", "-S", "MicroBarrier.scale=1x2")
    assert (launch["id"], launch["nodes"]) == ("b000 one@shm micro barrier small np=2", 1)
    assert (launch["placement"], launch["nodelist"], launch["node_pool"]) == (None, [], "")


def test_the_id_names_the_nodes_of_another_scale_than_the_default(cluster: FakeSite) -> None:
    requests = {"FABRICBENCH_SCALES": "4x1 2x2 4x2"}
    ids = {launch["id"].partition("small ")[2] for launch in reframe(cluster, "MicroBarrier", **requests)}
    assert ids == {"np=4", "np=4 nodes=2", "np=8"}


def test_a_launch_records_its_nodes_and_gives_them_to_the_launcher(cluster: FakeSite) -> None:
    options = ("-S", "MicroBarrier.scale=2x2")
    (launch,) = reframe(cluster, "MicroBarrier", *options, FABRICBENCH_BLOCK="3", FABRICBENCH_SEED="5")
    chosen = list(chosen_nodes(NAMES, 2, 3, 5))
    assert (launch["nodelist"], launch["node_pool"], launch["node_rule"]) == (chosen, "n1,n2,n3,n4", "rotation-1")
    assert launch["placement"] == "block"
    script = (launch["folder"] / "rfm_job.sh").read_text()
    assert f"-np 4 -hosts {','.join(chosen)} -ppn 2 " in script


def test_a_requested_placement_is_part_of_the_case(cluster: FakeSite) -> None:
    options = ("-S", "MicroBarrier.scale=2x2", "-S", "MicroBarrier.placement=cyclic")
    (launch,) = reframe(cluster, "MicroBarrier", *options)
    assert (launch["placement"], launch["case"]) == ("cyclic", {"placement": "cyclic"})
    assert "-ppn 1 " in (launch["folder"] / "rfm_job.sh").read_text()


@pytest.mark.parametrize(
    ("placement", "reason"),
    [
        ("near", "unknown placement 'near'; choose one of block, cyclic"),
        ("cyclic", "no options that place the ranks of one over nodes; add them to one in site/stacks.py (placement)"),
    ],
)
def test_a_placement_that_is_not_possible_is_skipped(site: FakeSite, placement: str, reason: str) -> None:
    site.change_fabric("nodes=Nodes(count=2, cores=2)")
    options = ("-S", "MicroBarrier.scale=2x1", "-S", f"MicroBarrier.placement={placement}")
    (skip,) = reframe(site, "MicroBarrier", *options)
    assert f"{skip['reason']}; {skip['hint']}" == reason


NETWORK = {"FABRICBENCH_SWITCHES": "leaf1=n[1-2] leaf2=n[3-4]", "FABRICBENCH_BLOCK": "2"}


@pytest.mark.parametrize("distance", ["near", "far"])
def test_nodes_near_or_far_are_part_of_the_case(cluster: FakeSite, distance: str) -> None:
    options = ("-S", "MicroBarrier.scale=2x1", "-S", f"MicroBarrier.distance={distance}")
    (launch,) = reframe(cluster, "MicroBarrier", *options, **NETWORK)
    assert (launch["distance"], launch["case"]) == (distance, {"distance": distance})
    assert launch["node_rule"] == f"{distance}-1"
    assert len(set(launch["switches"])) == (1 if distance == "near" else 2)
    of_node = {"n1": "leaf1", "n2": "leaf1", "n3": "leaf2", "n4": "leaf2"}
    assert launch["switches"] == [of_node[node] for node in launch["nodelist"]]
    assert f"-hosts {','.join(launch['nodelist'])} " in (launch["folder"] / "rfm_job.sh").read_text()


@pytest.mark.parametrize(
    ("distance", "scale", "switches", "reason"),
    [
        ("beside", "2x1", "leaf1=n[1-4]", "unknown distance 'beside'; choose one of near, far"),
        ("near", "1x2", "leaf1=n[1-4]", "a launch on one node has no distance; choose several nodes: "),
        ("near", "2x1", "", "Slurm knows no topology of switches; name the switches with their nodes in FABRICBENCH_"),
        ("near", "4x1", "leaf1=n[1-2] leaf2=n[3-4]", "no switch has 4 nodes of the fabric, the largest has 2; choose"),
        ("far", "4x1", "leaf1=n[1-2] leaf2=n[3-4]", "4 nodes need 4 switches, those of the fabric are on 2; choose a"),
    ],
)
def test_a_distance_that_is_not_possible_is_skipped(
    cluster: FakeSite, distance: str, scale: str, switches: str, reason: str
) -> None:
    options = ("-S", f"MicroBarrier.scale={scale}", "-S", f"MicroBarrier.distance={distance}")
    (skip,) = reframe(cluster, "MicroBarrier", *options, FABRICBENCH_SWITCHES=switches)
    assert f"{skip['reason']}; {skip['hint']}".startswith(reason)


def test_a_scale_that_is_none_is_an_error(site: FakeSite) -> None:
    result = site.inside("run", str(site.root / "campaign"), "--system", "fake", "--scale", "4y2")
    assert result.returncode == 2
    assert "--scale: '4y2' is not a scale; expected NODESxRANKS_PER_NODE, as in 4x8,16x1" in result.stderr
    arguments = ("-c", "reframe_checks", "-n", "^MicroBarrier", "-S", "MicroBarrier.scale=2x1,4x1", "-r")
    assert site.reframe(*arguments, FABRICBENCH_CAMPAIGN=str(site.root / "campaign")).returncode != 0


def test_a_node_is_taken_out_with_a_reason(cluster: FakeSite) -> None:
    """Its name and the reason are beside every verdict, and no later launch uses the node."""
    path = str(cluster.root / "campaign")
    run = ("run", path, "--system", "fake", *ONE, "--check", "MicroPingpong", "--budget", "0")
    for wrong, message in (
        (("--without", "n3"), "--without NODE --because TEXT"),
        (("--without", "n9", "--because", "broken"), "no node 'n9'; expected n4"),
    ):
        refused = cluster.inside(*run, *wrong)
        assert refused.returncode == 2
        assert message in refused.stderr
    cluster.inside(*run, "--without", "n3", "--because", "ECC  errors")
    removed = json.loads((cluster.root / "campaign/removed-nodes.json").read_text())["removed"]
    assert [(one["node"], one["because"], one["block"]) for one in removed] == [("n3", "ECC errors", 0)]
    launches = list(facts(cluster.root / "campaign", "Micro"))
    assert launches
    assert all("n3" not in launch["nodelist"] and len(launch["nodelist"]) == 2 for launch in launches)
    assert {launch["node_pool"] for launch in launches} == {"n1,n2,n4"}
    judged = cluster.inside("judge", path)
    assert "without n3 since block 0: ECC errors" in judged.stdout
    report = cluster.inside("report", path)
    assert report.returncode == 0, report.stderr
    assert "without n3 since block 0: ECC errors" in (cluster.root / "campaign/report.html").read_text()


def test_a_scale_of_more_nodes_than_remain_is_skipped(cluster: FakeSite) -> None:
    (skip,) = reframe(cluster, "MicroBarrier", "-S", "MicroBarrier.scale=4x1", FABRICBENCH_WITHOUT="n2")
    assert skip["reason"] == "4x1 needs 4 nodes, the fabric shm has 3 without n2"


def test_a_variant_runs_where_ranks_share_a_node(cluster: FakeSite) -> None:
    """Its lane has other settings, and a wire-up of its own. Launches with one rank on each node have the lane only."""
    settings = cluster.settings.read_text()
    cluster.settings.write_text(settings.replace("nodes=Nodes", 'variants=["local-shm"], nodes=Nodes'))
    stacks = cluster.root / "site/stacks.py"
    variant = 'variants={"local-shm": {"shm": {"FAKE": "3"}}}'
    stacks.write_text(stacks.read_text().replace("name=name,", f"name=name, {variant},"))
    campaign = cluster.root / "campaign"
    both = ("--lane", "one@shm", "--lane", "one@shm:local-shm")
    options = ("--tier", "standard", "--check", "MicroBarrier", "--scale", "2x2,4x1", "--budget", "0")
    result = cluster.inside("run", str(campaign), "--system", "fake", *both, *options)
    assert result.returncode == 1, result.stdout + result.stderr
    launches = list(facts(campaign, "Micro"))
    assert {(one["stack"], one["variant"], one["ranks"] // one["nodes"]) for one in launches} == {
        ("one", "", 1),
        ("one", "", 2),
        ("one", "local-shm", 2),
    }
    assert {one["environment"]["FAKE"] for one in launches if one["variant"]} == {"3"}
    assert {one["folder"].parent.name for one in launches if one["variant"]} == {"one-local-shm"}
    wireups = list(facts(campaign, "WireUp"))
    assert sorted(one["id"] for one in wireups) == ["one@shm micro wireup np=2", "one@shm:local-shm micro wireup np=2"]
    table = cluster.inside("table", str(campaign), "-f", "csv")
    assert ",one,local-shm,micro,barrier," in table.stdout
