# SPDX-License-Identifier: Apache-2.0
"""The doctor reports every problem of a site, one line each, before a job is submitted."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from doctor.synthetic_site import GOOD, REQUIREMENTS, Site, texts
from fabricbench.cli import app
from fabricbench.doctor.site import demand_sound, site_problems
from fabricbench.errors import BadInput
from support import fake_slurm


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
    ]
    (warning,) = [text.partition("requirements.yaml:")[2] for text in texts("warning") if "nodes" in text]
    assert warning.partition(": ")[2] == (
        "c needs 64 nodes, and the selected fabrics have at most 2; its verdict will be INCONCLUSIVE on this site"
    )
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
    assert "fabric gige: no module 'mpi' in MODULEPATH; an earlier module may provide it" in texts("not checked")
    for name in ("gcc", "mpi"):
        (modules / name).mkdir()
        (modules / name / "12").touch()
    assert texts("broken") == []


@pytest.mark.parametrize(
    ("fabric", "state", "message"),
    [
        ('slurm("x", ports=("mlx5_9:1",))', "not checked", "the port mlx5_9:1 is not on this node"),
        (
            'here("x", transport="tcp", ports=("eno99",))',
            "warning",
            "this node has no port eno99; list this node's ports",
        ),
        ('here("x", transport="verbs", ports=("lo",))', "warning", "it has one node, so that no launch on verbs"),
        ('slurm("x", "verbs", ports=())', "warning", "it declares no ports, so that no launch on verbs"),
        (
            'slurm("x", "verbs")',
            "warning",
            "two@x will be skipped: no settings for two on verbs; add them",
        ),
        ('here("x", transport="tcp", count=2)', "warning", "2 nodes without a scheduler: only within an allocation"),
        ('slurm("x", pmi={"one": ""})', "warning", "one names no PMI, so Slurm's MpiDefault applies"),
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


def test_what_the_kernels_are_built_for(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A declared level decides; nodes that are not declared cannot be checked from here."""
    fake_slurm.install(tmp_path, monkeypatch)
    target = {"name": "x86-64-v3", "instructions": ["avx2", "pni"]}
    for stack in ("one", "two"):
        home = tmp_path / "build/stacks" / stack
        home.mkdir(parents=True)
        facts = {"stack": stack, "source": "fake", "version": "1", "prefix": "/p", "apps": "/a"}
        (home / "stack.json").write_text(json.dumps(facts | {"target": target}))
    site()
    (text,) = texts("not checked")
    built = "fabric gige: the NAS kernels of one, two are built for x86-64-v3"
    assert text == f"{built}; the processors of the nodes are unknown; declare them: Nodes(processor=…)"
    site(GOOD.replace("access", "processor='x86-64-v2', access"))
    (text,) = texts("warning")
    lacks = f"{built}, and the processors of the nodes lack avx2, so that the kernels are skipped"
    assert text == f"{lacks}; run: fabricbench setup --target x86-64-v2"
    site(GOOD.replace("access", "processor='x86-64-v4', access"))
    assert texts("warning") == texts("not checked") == []


def test_what_nasas_programs_are_built_for(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They keep the target of their own build when the stack is set up for another one."""
    fake_slurm.install(tmp_path, monkeypatch)
    older, newer = ({"name": name, "instructions": [flag]} for name, flag in (("v2", "pni"), ("v3", "avx2")))
    nasa = {"package": "npb", "version": "3.4.1", "prefix": "/n", "origin": "/o", "target": newer}
    facts = {"stack": "one", "source": "fake", "version": "1", "prefix": "/p", "apps": "/a", "target": older}
    home = tmp_path / "build/stacks/one"
    home.mkdir(parents=True)
    (home / "stack.json").write_text(json.dumps(facts | {"sources": {"npb": nasa}}))
    site(GOOD.replace("access", "processor='x86-64-v2', access"))
    (text,) = texts("warning")
    assert "the NAS kernels of one are built for v3 (x86-64), and the processors of the nodes lack avx2" in text
