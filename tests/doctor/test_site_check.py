# SPDX-License-Identifier: Apache-2.0
"""The doctor reports every problem of a site, one line each, before a job is submitted."""

from collections.abc import Callable
from pathlib import Path
from textwrap import dedent, indent

import pytest
from typer.testing import CliRunner

from fabricbench.cli import app
from fabricbench.doctor.site import demand_sound, site_problems
from fabricbench.errors import BadInput
from fabricbench.slurm import state as slurm_state
from support import fake_slurm

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


def slurm(name, transport="tcp", stacks=STACKS, count=2, ports=("lo",), scheduler="slurm", **options):
    scheduler = Scheduler(name=scheduler, launcher="srun", **options)
    return Fabric(
        name=name, transport=transport, stacks=stacks, scheduler=scheduler, nodes=Nodes(count=count), ports=ports
    )


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
    """The problems of this state without the file's name, except those of stacks that are not set up."""
    problems = [problem for problem in site_problems("mine", chosen) if "not set up" not in problem.text]
    for problem in problems:
        assert "\n" not in problem.text
    return [p.text.partition("settings.py: ")[2] or p.text for p in problems if p.state == state]


def test_a_site_without_problems(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site()
    calls = fake_slurm.install(tmp_path, monkeypatch)
    assert (texts("broken"), texts("not checked"), texts("warning")) == ([], [], [])
    assert (
        calls.read_text().splitlines()[0] == "--test-only --partition=gige --nodes=2 --exclusive --time=120 --wrap=true"
    )
    demand_sound("mine")
    result = CliRunner().invoke(app, ["doctor", "--site", "--system", "mine"])
    assert (result.exit_code, result.stderr) == (0, "")
    assert "settings.py: 1 requirements, 2 lanes: one@gige two@gige" in result.stdout


def test_without_slurm_its_checks_are_not_checked(site: Site) -> None:
    site()
    assert texts("broken") == []
    assert texts("not checked") == [
        "the PMI of fabric gige: no srun on PATH",
        "partitions and nodes of fabric gige: no sinfo on PATH",
    ]
    result = CliRunner().invoke(app, ["doctor", "--site", "--system", "mine"])
    assert result.exit_code == 0
    assert "not checked: " in result.stdout


def test_a_missing_slurm_configuration_is_reported_at_once(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site()
    calls = fake_slurm.install(tmp_path, monkeypatch)
    monkeypatch.setenv("SLURM_CONF", str(tmp_path / "gone.conf"))
    assert texts("not checked") == [
        f"{what} of fabric gige: SLURM_CONF names {tmp_path}/gone.conf, which is not there"
        for what in ("the PMI", "partitions and nodes")
    ]
    assert not calls.exists()


def test_an_sbatch_without_output_is_not_a_refusal(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site()
    fake_slurm.install(tmp_path, monkeypatch, sbatch="exec sleep 20")
    monkeypatch.setattr(slurm_state, "PATIENCE_SECONDS", 1)
    assert texts("broken") == []
    assert texts("not checked") == ["whether Slurm accepts the jobs of fabric gige: sbatch did not answer within 1 s"]


def test_slurm_that_does_not_answer(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site()
    fake_slurm.install(tmp_path, monkeypatch)
    for name in ("sinfo", "srun"):
        message = (
            f"{name}: error: fetch_config: DNS SRV lookup failed\n{name}: fatal: Could not establish a configuration"
        )
        (tmp_path / "bin" / name).write_text(f"#!/bin/sh\necho '{message}' >&2\nexit 1\n")
    why = "fatal: Could not establish a configuration"
    assert texts("not checked") == [
        f"the PMI of fabric gige: srun: {why}",
        f"partitions and nodes of fabric gige: sinfo: {why}",
    ]


@pytest.mark.parametrize(
    ("fabric", "message"),
    [
        ('access=["-p", "gigee"]', "fabric x: no partition 'gigee'; expected gige"),
        ('access=["-p gige,nosuch"]', "fabric x: no partition 'nosuch'; expected one of closed, gige, ib"),
        (
            'access=["-pib", "-w n[3-4]"]',
            "fabric x: its node list is down: n3 is down* (link flaps, see ticket 12), n4 is drained (memtest); "
            "scontrol show node n3",
        ),
        (
            'access=["--partition", "ib"]',
            "fabric x: 0 of 2 nodes up, 2 requested: n3 is down* (link flaps, see ticket 12), "
            "n4 is drained (memtest); scontrol show node n3",
        ),
        ("count=3", "fabric x: 2 of 2 nodes up, 3 requested"),
        ('access=["-x n1"]', "fabric x: 1 of 1 nodes up, 2 requested"),
        ('access=["-w", "n1,n9"]', "fabric x: no node 'n9' in its partition; expected n2, n1"),
        ("""access=["-p 'gige"]""", "fabric x: access: No closing quotation"),
        ('access=["-p"]', "fabric x: access: argument -p/--partition: expected one argument"),
        (
            'pmi={"one": "pmi1"}',
            "fabric x: srun does not offer pmi1, the PMI of one; expected pmix, pmi2, pmix_v4; "
            "pmi={'one': …} of the fabric selects it",
        ),
        ('scheduler="slrum"', "fabric x: unknown scheduler 'slrum'; expected slurm"),
        (
            'scheduler="pbs"',
            "fabric x: the launcher srun is Slurm's, the scheduler is pbs; expected mpirun",
        ),
        (
            'modules=["ucx"]',
            "fabric x: modules, but no modules_system to load them; "
            "expected modules_system='lmod', 'tmod4' or 'envmod' of the System",
        ),
    ],
)
def test_what_slurm_cannot_provide_for_a_fabric(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fabric: str, message: str
) -> None:
    site(f'{GOOD}\nslurm("x", {fabric}),')
    fake_slurm.install(tmp_path, monkeypatch)
    assert texts("broken") == [message]
    assert texts("broken", ("one@gige",)) == []
    with pytest.raises(BadInput, match="fabric x: "):
        demand_sound("mine")


def test_a_partition_that_is_closed(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site('slurm("gige", count=1, access=["-p closed"]),')
    fake_slurm.install(tmp_path, monkeypatch)
    what = "fabric gige: the partition closed is down; it must be up for jobs to start: scontrol show partition"
    assert texts("broken") == [what]


def test_nodes_that_are_down_where_enough_are_up(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site()
    fake_slurm.install(tmp_path, monkeypatch, nodes=fake_slurm.NODES + "n5|gige|unknown*|none\n")
    assert texts("broken") == []
    assert texts("warning") == ["fabric gige: 1 of 3 nodes are down: n5 is unknown*"]


def test_a_refusal_of_the_trial_submission_is_reported(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site('slurm("gige", access=["-p gige", "-C \'a&b\'"]),')
    refusal = "echo 'allocation failure: Invalid feature specification' >&2; exit 1"
    calls = fake_slurm.install(tmp_path, monkeypatch, sbatch=refusal)
    what = "fabric gige: Slurm would refuse its jobs: allocation failure: Invalid feature specification"
    assert texts("broken") == [what]
    assert "--test-only -p gige -C a&b --nodes=2" in calls.read_text()


def test_no_default_partition(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site('slurm("gige"),')
    fake_slurm.install(tmp_path, monkeypatch, partitions="gige|up\n", nodes="n1|gige|idle|none\n")
    what = "fabric gige: no partition, and Slurm has no default one; name one in access: --partition=gige"
    assert what in texts("broken")


@pytest.mark.parametrize(
    "formats",
    [
        fake_slurm.PMI,
        # As Slurm up to 20.11 printed it, on the standard error
        "srun: MPI types are...\nsrun: pmix_v3\nsrun: pmix\nsrun: pmi2\nsrun: none\n",
        "MPI plugin types are...\n\tnone\n\tpmi2\n\tpmix\nspecific pmix plugin versions available: pmix_v4,pmix_v5\n",
    ],
)
def test_the_formats_of_srun(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, formats: str) -> None:
    site('slurm("gige", pmi={"two": "cray_shast"}),')
    fake_slurm.install(tmp_path, monkeypatch, pmi=formats)
    srun = tmp_path / "bin/srun"
    if formats.startswith("srun:"):
        srun.write_text(srun.read_text().replace("cat ", "cat >&2 "))
    (message,) = texts("broken")
    assert message.startswith("fabric gige: srun does not offer cray_shast, the PMI of two; expected ")
    assert "..." not in message
    assert "specific" not in message


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            'name="mine",\n',
            'name="mime",\n',
            "the system is called 'mime'; expected 'mine', the name of its folder",
        ),
        (GOOD, GOOD * 2, "duplicate fabric 'gige'; remove one of them"),
        (
            '    stacks=["one", "two"]',
            '    stacks=["one", "two", "two"]',
            "duplicate stack 'two'; remove one of them",
        ),
        (
            'STACKS = ["one"',
            'STACKS = ["one", "one"',
            "fabric gige names the stack 'one' twice; remove one of them",
        ),
        ('STACKS = ["one"', 'STACKS = ["ome"', "fabric gige names the stack 'ome'; expected one"),
        ('slurm("gige"', 'slurm("gi ge"', "the fabric 'gi ge'; expected letters, digits, '_' and '-' only"),
    ],
)
def test_wrong_names_in_the_settings(site: Site, old: str, new: str, message: str) -> None:
    file = site()
    assert old in file.read_text()
    file.write_text(file.read_text().replace(old, new))
    assert message in texts("broken")
    assert texts("not checked") == ["what the fabrics need of the cluster, until the file is correct"]


def test_unknown_keys_are_found_by_reframes_schema(site: Site) -> None:
    file = site()
    with file.open("a") as stream:
        stream.write('site_configuration["systems"][0]["colour"] = 1\nsite_configuration["modes"] = 2\n')
    first, second = texts("broken")
    assert first.startswith("systems.0: ")
    assert "'colour' was unexpected" in first
    assert second.startswith("modes: ")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("site_configuration = {}", "site_configuration is missing or wrong; expected site_configuration = reframe"),
        ("site_configuration = 3", "site_configuration is missing or wrong"),
        ('site_configuration["systems"].append(3)', "site_configuration is missing or wrong"),
        ('site_configuration["systems"][0]["partitions"][0]["extras"] = {}', "site_configuration is missing or wrong"),
        ('site_configuration["environments"][0]["extras"] = {}', "site_configuration is missing or wrong"),
        ("SYSTEM = 3", "SYSTEM is missing or wrong; expected SYSTEM = System(…)"),
        ("Fabric(name='a', colour=3)", "TypeError: Fabric.__init__() got an unexpected keyword argument 'colour'"),
        ("1 / 0", "ZeroDivisionError"),
    ],
)
def test_settings_that_define_no_site(site: Site, text: str, message: str) -> None:
    file = site()
    with file.open("a") as stream:
        stream.write(f"{text}\n")
    (message,) = [line for line in texts("broken") if "requirements" not in line]
    assert message in f"{message}"
    assert any("does not load" in line for line in texts("not checked"))


def test_all_requirements_are_checked(site: Site) -> None:
    more = """\
  - id: a
    text: t
    select: {tool: mciro, benchmark: pingpnog, metric: latency, fabric: gige}
    at_most: 50 us
  - id: b
    text: t
    select: {tool: micro, benchmark: pingpong, metric: latency, fabric: verbs-only, stack: two}
    at_most: 50 us
  - id: c
    text: t
    select: {tool: micro, benchmark: pingpong, metric: latency, fabric: gige, nodes: 64}
    at_most: 50 us
"""
    only = 'slurm("verbs-only", "verbs", stacks=["one"]),'
    file = site(f"{GOOD}\n{only}", REQUIREMENTS + more)
    problems = [text.partition("requirements.yaml:")[2] for text in texts("broken")]
    assert [text.partition(": ")[2] for text in problems] == [
        "unknown tool 'mciro'; expected micro",
        "unknown benchmark 'pingpnog'; expected pingpong, pingping, pingpongmt",
        "b: there is no lane two@verbs-only; expected one@verbs-only",
        "c: 64 nodes; expected at most 2, as the fabrics have",
    ]
    file.write_text("1 / 0")
    file.with_name("requirements.yaml").write_text(REQUIREMENTS.replace("latency, f", "latnecy, f"))
    first, second = texts("broken")
    assert "ZeroDivisionError" in first
    assert "unknown metric 'latnecy'" in second


def test_modules_are_found_by_their_files(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = site('slurm("gige", modules=["gcc/12", "ucx/1.15", "mpi"]),')
    file.write_text(file.read_text().replace("file=__file__,", 'file=__file__, modules_system="lmod",'))
    assert "fabric gige: the modules gcc/12 ucx/1.15 mpi; MODULEPATH is not set here" in texts("not checked")
    modules = tmp_path / "modules"
    (modules / "ucx").mkdir(parents=True)
    (modules / "ucx/1.15.lua").touch()
    monkeypatch.setenv("MODULEPATH", f":{tmp_path / 'none'}:{modules}")
    assert texts("broken") == ["fabric gige: no module 'gcc/12' in MODULEPATH; module avail lists them"]
    assert "fabric gige: no module 'mpi' in MODULEPATH; an earlier one may bring it" in texts("not checked")
    for name in ("gcc", "mpi"):
        (modules / name).mkdir()
        (modules / name / "12").touch()
    assert texts("broken") == []


@pytest.mark.parametrize(
    ("fabric", "state", "message"),
    [
        ('slurm("x", ports=("mlx5_9:1",))', "not checked", "the port mlx5_9:1 is not on this node"),
        ('here("x", transport="tcp", ports=("eno99",))', "warning", "this node has no port eno99; ip link"),
        ('here("x", transport="verbs", ports=("lo",))', "warning", "it has one node, so that no launch on verbs"),
        ('slurm("x", "verbs", ports=())', "warning", "it declares no ports, so that no launch on verbs"),
        (
            'slurm("x", "verbs")',
            "warning",
            "two@x will be skipped: no settings for two on verbs; add them",
        ),
        ('here("x", transport="tcp", count=2)', "warning", "2 nodes without a scheduler: only within an allocation"),
        ('slurm("x", pmi={"one": ""})', "warning", "one names no PMI, so that it takes Slurm's MpiDefault"),
        (
            'here("x", transport="tcp", scheduler="flux")',
            "not checked",
            "queues and nodes of flux; only Slurm is queried",
        ),
    ],
)
def test_warnings_of_the_site_check(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fabric: str, state: str, message: str
) -> None:
    site(f"{GOOD}\n{fabric},")
    fake_slurm.install(tmp_path, monkeypatch)
    assert texts("broken") == []
    assert any(message in text for text in texts(state)), texts(state)


def test_an_unknown_system(site: Site) -> None:
    site()
    with pytest.raises(BadInput, match="unknown system 'mime'; expected mine"):
        site_problems("mime")


def test_the_first_problem_stops_a_run_and_counts_the_others(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site('slurm("a", access=["-p nosuch"]),\nslurm("b", access=["-p nosuch"]),')
    fake_slurm.install(tmp_path, monkeypatch)
    with pytest.raises(BadInput, match=r"more: fabricbench doctor --site --system mine\)"):
        demand_sound("mine")
    result = CliRunner().invoke(app, ["doctor", "--site", "--system", "mine"])
    assert result.exit_code == 2
    assert all(line.startswith("fabricbench: ") for line in result.stderr.splitlines())
    assert sum("no partition 'nosuch'" in line for line in result.stderr.splitlines()) == 2
