# SPDX-License-Identifier: Apache-2.0
"""The checks of the Intel MPI Benchmarks: their arguments, their expected rows and their skips."""

import json
from collections import Counter
from importlib import import_module
from pathlib import Path

import pytest

from fabricbench.runner.reframe import cases
from fabricbench.setup.probe import probe_imb_mt
from fabricbench.site.stacks import Installed
from support import fake_site
from support.command import reframe_inside
from support.fake_site import REPOSITORY, FakeSite
from support.launches import change
from support.processes import clean_environment

CHECKS = ("-c", str(REPOSITORY / "reframe_checks"))
TOOLS = {"imb": "IMB-MPI1", "imb_p2p": "IMB-P2P", "imb_rma": "IMB-RMA", "imb_nbc": "IMB-NBC", "imb_mt": "IMB-MT"}
SINGLE_THREADED = "can't setup a required MPI threading mode"

PROGRAM = f"""\
#!/bin/sh
# As IMB says it on a stack without MPI_THREAD_MULTIPLE.
[ ! -e "$0.single" ] || {{ echo "{SINGLE_THREADED}"; exit 1; }}
"""


@pytest.fixture
def site(tmp_path: Path) -> FakeSite:
    """Returns a site whose stack "one" has IMB's programs, without output; "two" has none."""
    fake = fake_site.make(tmp_path)
    for program in TOOLS.values():
        path = fake.stack("one") / "prefix/bin" / program
        path.write_text(PROGRAM)
        path.chmod(0o755)
    change(fake.stack("one") / "stack.json", imb=str(fake.stack("one") / "prefix/bin/IMB-MPI1"))
    return fake


def run(site: FakeSite, name: str, *arguments: str) -> list[dict[str, object]]:
    """Returns the skips and launches of the checks of that name on the stacks "one" and "two"."""
    site.reframe(*CHECKS, "-n", name, "-r", *arguments, FABRICBENCH_CAMPAIGN=str(site.root / "campaign"))
    folders = list((site.root / "campaign").glob("launches/*/*/*/*/Imb*"))
    files = [folder / name for folder in folders for name in ("skipped.json", "launch.json")]
    return [{"file": path.name, **json.loads(path.read_text())} for path in files if path.exists()]


def test_a_stack_without_imb_skips_every_program(site: FakeSite) -> None:
    files = run(site, "^ImbBarrier|^ImbP2PPairs|^ImbAtomics|^ImbIbarrier|^ImbMtBarrier", "-p", "two")
    reasons = {skip["tool"]: skip["reason"] for skip in files if skip["file"] == "skipped.json"}
    assert reasons == {tool: f"{program} is not installed for the stack two" for tool, program in TOOLS.items()}


def test_a_missing_program_is_skipped(site: FakeSite) -> None:
    (site.stack("one") / "prefix/bin/IMB-RMA").unlink()
    files = run(site, "^ImbAtomics|^ImbIbarrier", "-p", "one")
    assert {(item["file"], item["tool"]) for item in files} == {("skipped.json", "imb_rma"), ("launch.json", "imb_nbc")}


def test_a_stack_without_threads_is_skipped(site: FakeSite) -> None:
    change(site.stack("one") / "stack.json", imb_mt_problem=SINGLE_THREADED)
    skips = [item for item in run(site, "^ImbMt", "-p", "one") if item["file"] == "skipped.json"]
    assert {skip["reason"] for skip in skips} == {f"IMB-MT does not run on this one: {SINGLE_THREADED}"}
    assert {str(skip["benchmark"]).split()[0] for skip in skips} == {"pt2pt", "windows", "collectives", "barriermt"}


def test_set_up_records_whether_threads_may_call_mpi(site: FakeSite) -> None:
    installed = Installed.model_validate_json((site.stack("one") / "stack.json").read_bytes())
    assert probe_imb_mt(installed, {}) == ""
    (site.stack("one") / "prefix/bin/IMB-MT.single").touch()
    assert SINGLE_THREADED in probe_imb_mt(installed, {})
    (site.stack("one") / "prefix/bin/IMB-MT").unlink()
    assert "IMB-MT" in probe_imb_mt(installed, {})


def test_oversubscribed_launches_are_skipped_unless_set(site: FakeSite) -> None:
    many = ("-S", "ImbMtBarrier.threads=4000")
    (skip,) = run(site, "^ImbMtBarrier", "-p", "one", *many)
    assert skip["file"] == "skipped.json"
    assert str(skip["reason"]).startswith("8000 ranks or threads on ")
    files = run(site, "^ImbMtBarrier", "-p", "one", *many, "-S", "ImbMtBarrier.oversubscribe=1")
    (launch,) = (item for item in files if item["file"] == "launch.json")
    assert launch["mode"] == "checked"
    assert launch["case"] == {"threads": 4000}
    assert isinstance(launch["environment"], dict)
    assert launch["environment"]["OMP_NUM_THREADS"] == "4000"


def test_a_block_has_every_benchmark_of_every_program_once(site: FakeSite) -> None:
    """The launches of one lane expect every benchmark that the parsers know, each once."""
    oversubscribed = ("ImbP2PStencil", "ImbMtPointToPoint", "ImbMtWindows", "ImbMtCollective", "ImbMtBarrier")
    options = [word for name in oversubscribed for word in ("-S", f"{name}.oversubscribe=1")]
    launches = [item for item in run(site, "^Imb", "-p", "one", *options) if item["file"] == "launch.json"]
    rows = Counter(
        (launch["tool"], row["benchmark"], row["case"], row["metric"], size)
        for launch in launches
        for row in launch["expected"]  # type: ignore[attr-defined]
        for size in row["msg_sizes_bytes"] or (None,)
    )
    assert set(rows.values()) == {1}
    for tool in TOOLS:
        benchmarks = set(import_module(f"fabricbench.parsers.tools.{tool}").BENCHMARKS)
        assert {benchmark for of, benchmark, *_ in rows if of == tool} == benchmarks
    assert len({launch["id"] for launch in launches}) == len(launches) <= 75


def test_the_quick_tier_has_only_these_checks() -> None:
    environment = {
        **clean_environment(),
        "RFM_CONFIG_FILES": str(REPOSITORY / "site/local/settings.py"),
        "RFM_SYSTEM": "local:tcp",
    }
    result = reframe_inside(*CHECKS, "-t", "quick", "-n", "^Imb", "-lC", environment=environment)
    names = {case.check_class for case in cases(result.stdout.splitlines())}
    assert names == {"ImbPointToPoint", "ImbCollective", "ImbBarrier"}
