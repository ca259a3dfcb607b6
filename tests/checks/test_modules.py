# SPDX-License-Identifier: Apache-2.0
"""Jobs of a stack with modules load them before the launch, and end with the reason if they cannot."""

import json
from pathlib import Path

import pytest

from fabricbench.campaign.collect import collect
from fabricbench.launch.record import Record
from fabricbench.setup.modules import load
from fabricbench.site.modules import Modules
from support.fake_site import REPOSITORY, FakeSite
from support.toy_modules import ModuleSystem, module_system

SMALL = ("-c", str(REPOSITORY / "reframe_checks"), "-n", "^MicroPingpong.*messages=small", "-p", "^one$", "-r")


@pytest.fixture
def system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleSystem:
    """A module system whose module sets a variable of the lane, another of MPI, and the latency of the fake stack."""
    load.cache_clear()
    system = module_system(tmp_path / "modules", monkeypatch)
    system.add("fake/1.0", prepend=(("PATH", "/of/the/module"),), FAKE="module", UCX_TLS="all")
    return system


@pytest.fixture
def modules(system: ModuleSystem) -> Modules:
    return load(("fake/1.0",)).modules


def launched(site: FakeSite, modules: Modules, check: str) -> tuple[str, Record, str]:
    """Runs a wire-up and a launch of the stack with these modules.

    Returns ReFrame's output, and the record and the job script of the launch whose class is ``check``.
    """
    site.environment.pop("BASH_FUNC_module%%", None)  # the job finds its module system itself
    file = site.stack("one") / "stack.json"
    facts = json.loads(file.read_text()) | {"source": "module", "modules": modules.model_dump(mode="json")}
    file.write_text(json.dumps(facts))
    show = 'echo "$FAKE $UCX_TLS $PATH" >"$stack/seen"\n[ "$PMI_RANK" = 0 ] || exit 0\n'
    micro = site.stack("one") / "apps/bin/fabricbench-micro"
    micro.write_text(micro.read_text().replace('[ "$PMI_RANK" = 0 ] || exit 0\n', show))
    result = site.reframe(*SMALL, FABRICBENCH_CAMPAIGN=str(site.root / "campaign"))
    (directory,) = sorted((site.root / "campaign/launches").glob(f"*/*/*/*/{check}*"))
    return result.stdout, collect(directory), (directory / "rfm_job.sh").read_text()


def test_a_job_loads_the_modules(site: FakeSite, modules: Modules) -> None:
    output, record, script = launched(site, modules, "MicroPingpong")
    assert (record.state, record.reason) == ("ok", ""), output
    assert script.index("module load fake/1.0") < script.index("export FAKE=1") < script.index("mpirun -np")
    prefix = site.stack("one") / "prefix"
    fake, ucx, path = (site.stack("one") / "seen").read_text().split()
    assert (fake, ucx, path.split(":")[:2]) == ("1", "all", [f"{prefix}/bin", "/of/the/module"])
    assert record.launch is not None
    assert (record.launch.modules, record.launch.stack_prefix) == (("fake/1.0",), str(prefix))
    assert record.launch.environment.items() >= {"FAKE": "1", "UCX_TLS": "all"}.items()
    report = site.inside("report", str(site.root / "campaign"))
    assert report.returncode == 0, report.stderr
    html = (site.root / "campaign/report.html").read_text()
    assert "modules of the stack" in html
    assert "fake/1.0" in html


def test_a_module_that_the_node_does_not_have(site: FakeSite, modules: Modules, system: ModuleSystem) -> None:
    (system.files / "fake/1.0").unlink()
    _, record, _ = launched(site, modules, "WireUpLaunch")
    assert record.state == "unfinished"
    reason = "it could not be started: exit status 127: the module fake/1.0 of the stack one cannot be loaded on "
    assert record.reason.startswith(reason)
