# SPDX-License-Identifier: Apache-2.0
"""Systems and their lanes, loaded from ``settings.py``, and what ReFrame receives of them."""

import random
from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from types import MappingProxyType, NoneType
from typing import Any

import pytest

from fabricbench.errors import BadInput
from fabricbench.launch.configuration import reframe_configuration
from fabricbench.launch.session import session
from fabricbench.site.fabric import Fabric, Nodes, Scheduler
from fabricbench.site.lane import Lane, LaneName, LaneNamed
from fabricbench.site.settings import REPOSITORY, build_root, choose, lanes, load_settings, load_system
from fabricbench.site.stacks import Installed, Stack
from fabricbench.site.system import System, system_in

STACKS = """\
from fabricbench.site.stacks import Stack

STACKS = {
    "mine": Stack(
        name="mine",
        pmi="pmi2",
        launcher_environment={"srun": {"PMI": "yes"}},
        environment={"ROOT": "{prefix}", "A": "all"},
        transports={"tcp": {"A": "tcp {prefix}/lib"}, "shm": {}},
        oversubscribed={"YIELD": "1"},
    ),
    "other": Stack(name="other", transports={"tcp": {}}),
}
"""
SETTINGS = """\
from fabricbench.launch.configuration import reframe_configuration
from fabricbench.site.fabric import Fabric
from fabricbench.site.system import System

SYSTEM = System(
    name="here",
    file=__file__,
    description="this",
    fabrics=[Fabric(name="gige", transport="tcp", stacks=["mine"]), Fabric(name="mx", transport="mx", stacks=["mine"])],
    stacks=["mine"],
)
site_configuration = reframe_configuration(SYSTEM)
"""
INSTALLED = Installed(stack="mine", source="here", version="1", prefix="/opt/m", apps="/opt/apps", imb="/opt/IMB-MPI1")


@pytest.fixture(autouse=True)
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Makes the site ``here`` and an empty build, and returns the folder of the site."""
    folder = tmp_path / "site/here"
    folder.mkdir(parents=True)
    (tmp_path / "site/stacks.py").write_text(STACKS)
    (folder / "settings.py").write_text(SETTINGS)
    monkeypatch.setenv("FABRICBENCH_SITES", str(tmp_path / "site"))
    monkeypatch.setenv("FABRICBENCH_BUILD", str(tmp_path / "build"))
    state = random.getstate()
    session.cache_clear()
    yield folder
    session.cache_clear()
    random.setstate(state)


def install(site: Path) -> None:
    file = site.parents[1] / "build/stacks/mine/stack.json"
    file.parent.mkdir(parents=True)
    file.write_text(INSTALLED.model_dump_json())


def system(site: Path, **fields: Any) -> System:
    """Returns the system ``here`` with one fabric that has these fields."""
    fabric = Fabric(**{"name": "gige", "transport": "tcp", "stacks": ["mine"]} | fields)
    return System(
        name="here", file=site / "settings.py", description="this", fabrics=[fabric], stacks=["mine", "other"]
    )


def test_the_directory_of_the_build_is_a_variable(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("FABRICBENCH_BUILD", "")
    assert build_root() == REPOSITORY / "build"
    monkeypatch.setenv("FABRICBENCH_BUILD", str(tmp_path))
    assert build_root() == tmp_path


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"transport": "tpc"}, "unknown transport 'tpc'; expected tcp"),
        ({"binding": "cores"}, "unknown binding 'cores'; expected core"),
        ({"attestation": "never"}, "attestation is 'never'; expected required or optional"),
        ({"scheduler": Scheduler(launcher="sruns")}, "unknown launcher 'sruns'; expected srun"),  # type: ignore[arg-type]
        ({"scheduler": Scheduler(pmi={"mime": "pmix"})}, "pmi for the stack 'mime'; expected mine"),
        ({"stack_variables": {"other": {}}}, "stack_variables for the stack 'other'; expected one of mine"),
        ({"nodes": Nodes(count=0)}, "0 nodes, 120 minutes, None cores; expected 1 or more"),
        ({"nodes": Nodes(memory_bytes=0)}, "0 bytes of memory; expected 1 or more"),
        ({"rails": 0}, "0 rails, 0 ports; expected 1 or more rails"),
        ({"rails": 2, "ports": ["a"]}, "2 rails, 1 ports; expected 1 or more rails"),
        ({"rails": 1, "ports": ["a", "b"]}, "1 rails, 2 ports; expected 1 or more rails"),
    ],
)
def test_a_fabric_with_a_wrong_value(site: Path, fields: dict[str, Any], message: str) -> None:
    with pytest.raises(BadInput, match=rf"here/settings\.py: fabric gige: {message}"):
        system(site, **fields)


def test_the_number_of_rails_is_that_of_the_ports(site: Path) -> None:
    fabric = system(site).fabrics[0]
    assert [replace(fabric, **more).rail_count for more in ({}, {"ports": ["a", "b"]}, {"rails": 2})] == [1, 2, 2]


def test_a_stack_that_is_not_declared(site: Path) -> None:
    with pytest.raises(BadInput, match=r"settings\.py: unknown stack 'mime'; expected mine"):
        System(name="here", file=site / "settings.py", description="", fabrics=[], stacks=["mime"])


def test_a_fabric_names_a_stack_that_the_system_does_not_have(site: Path) -> None:
    with pytest.raises(BadInput, match="fabric gige names the stack 'ome'; expected "):
        system(site, stacks=["ome"])


def parts(value: object) -> Iterator[object]:
    """Yields a declaration and everything in it, in depth."""
    yield value
    inner: Iterable[object] = ()
    if is_dataclass(value):
        inner = [getattr(value, field.name) for field in fields(value)]
    elif isinstance(value, Mapping):
        inner = value.values()
    elif isinstance(value, tuple):
        inner = value
    for part in inner:
        yield from parts(part)


@pytest.mark.parametrize("file", sorted((REPOSITORY / "site").glob("*/settings.py")), ids=lambda file: file.parent.name)
def test_a_loaded_system_is_immutable_in_depth(file: Path) -> None:
    declared = load_settings(file).system
    every_part = list(parts(declared))
    kinds = {type(part) for part in every_part if not is_dataclass(part)}
    assert kinds <= {str, int, float, bool, NoneType, tuple, MappingProxyType} | {type(Path())}
    assert all(part.__dataclass_params__.frozen for part in every_part if is_dataclass(part))  # type: ignore[union-attr]
    assert {System, Fabric, Scheduler, Nodes, Stack} <= {type(part) for part in every_part}


def test_a_later_change_of_a_sites_list_does_not_reach_the_fabric() -> None:
    ports, settings = ["a"], {"mine": {"A": "1"}}
    fabric = Fabric(name="gige", transport="tcp", stacks=["mine"], ports=ports, stack_variables=settings)
    ports.append("b")
    settings["mine"]["A"] = "2"
    assert (fabric.ports, fabric.stack_variables) == (("a",), {"mine": {"A": "1"}})


def test_reframes_copy_of_its_configuration_carries_the_same_system(site: Path) -> None:
    declared = system(site)
    assert system_in(deepcopy(declared.extras)) is declared


def test_the_lanes_of_a_system_have_their_installed_stack(site: Path) -> None:
    on_gige, on_mx = lanes("here")
    assert (on_gige.name, on_mx.name) == ("mine@gige", "mine@mx")
    hint = "run: fabricbench setup --spack build/views mine, or fabricbench setup mine --prefix DIRECTORY"
    assert on_gige.unavailable == ("the stack mine is not set up on this machine", hint)
    assert on_mx.unavailable == ("no settings for mine on mx", "add them to mine in site/stacks.py")
    install(site)
    on_gige, on_mx = lanes("here")
    assert (on_gige.unavailable, on_gige.installed) == (None, INSTALLED)
    assert on_mx.unavailable is not None
    assert [lane.name for lane in choose([on_gige, on_mx], ["mine@mx"])] == ["mine@mx"]
    with pytest.raises(BadInput, match="unknown lane 'mine@gig'; expected mine@gige"):
        choose([on_gige, on_mx], ["mine@gig"])


def lane(site: Path, **fields: Any) -> Lane:
    declared = system(site, **fields)
    return Lane(declared.fabrics[0], declared.stack("mine"), INSTALLED)


def test_the_fabrics_variables_override_the_stacks(site: Path) -> None:
    assert lane(site).variables() == {"ROOT": "/opt/m", "A": "tcp /opt/m/lib"}
    assert lane(site, transport="shm").variables() == {"ROOT": "/opt/m", "A": "all"}
    assert lane(site, transport="mx").variables() == {}
    full = lane(
        site,
        scheduler=Scheduler(launcher="srun"),
        variables={"A": "fabric", "B": "fabric"},
        stack_variables={"mine": {"B": "stack"}},
    )
    expected = {"ROOT": "/opt/m", "A": "fabric", "B": "stack", "PMI": "yes"}
    assert full.variables() == expected
    assert full.variables(oversubscribed=True) == {**expected, "YIELD": "1"}


def test_the_pmi_of_the_fabric_overrides_the_stacks(site: Path) -> None:
    assert lane(site).pmi is None
    assert lane(site, scheduler=Scheduler(launcher="srun")).pmi == "pmi2"
    assert lane(site, scheduler=Scheduler(launcher="srun", pmi={"mine": "pmix"})).pmi == "pmix"


def test_reframe_receives_one_object_in_every_partition_and_environment(site: Path) -> None:
    declared = system(site, nodes=Nodes(cores=4), scheduler=Scheduler(name="squeue", access=["-p x"], max_jobs=8))
    configuration: Any = reframe_configuration(declared)
    (described,) = configuration["systems"]
    (partition,) = described["partitions"]
    parts = [partition, *configuration["environments"]]
    assert [part["name"] for part in parts] == ["gige", "mine", "other"]
    assert all(set(part["extras"]) == {"fabricbench"} for part in parts)
    assert all(system_in(part["extras"]) is declared for part in parts)
    assert (partition["scheduler"], partition["access"], partition["max_jobs"]) == ("squeue", ["-p x"], 8)
    assert partition["features"] == ["fabric", "tcp"]
    assert partition["processor"] == {"num_cpus": 4, "num_cpus_per_core": 1}
    assert described["stagedir"] == session().stage


def test_inside_an_allocation_the_scheduler_is_local(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FABRICBENCH_ALLOCATION", "1")
    configuration: Any = reframe_configuration(system(site, scheduler=Scheduler(name="slurm")))
    assert configuration["systems"][0]["partitions"][0]["scheduler"] == "local"


def test_the_files_of_a_site_are_executed_once(site: Path) -> None:
    """An unchanged file is not executed again; a changed file is."""
    counts = {name: site.parent / f"{name}-executions" for name in ("settings", "stacks")}
    for name, file in (("settings", site / "settings.py"), ("stacks", site.parent / "stacks.py")):
        file.write_text(file.read_text() + f"open({str(counts[name])!r}, 'a').write('x')\n")
    for _ in range(3):
        lanes("here")
    assert {name: count.read_text() for name, count in counts.items()} == {"settings": "x", "stacks": "x"}
    with (site / "settings.py").open("a") as stream:
        stream.write("\n")
    assert load_system("here").name == "here"
    assert counts["settings"].read_text() == "xx"


def test_a_lane_by_its_name() -> None:
    assert (LaneName("openmpi", "tcp").name, LaneName("mvapich2", "ib", "r").name) == ("openmpi@tcp", "mvapich2@ib:r")
    assert LaneName.of("mvapich2@ib:r") == LaneName("mvapich2", "ib", "r")
    assert LaneName.of("openmpi@tcp") == LaneName("openmpi", "tcp")


def test_a_record_has_the_name_of_its_lane() -> None:
    class Record(LaneNamed):
        stack, fabric, variant = "mvapich2", "ib", "r"

    assert Record().lane == "mvapich2@ib:r"
