# SPDX-License-Identifier: Apache-2.0
"""Cases in which ReFrame alone would report success, or leave something behind, without a measurement."""

import itertools
import json
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from fabricbench.campaign.read import read_campaign
from support import fake_site
from support.command import reframe_inside
from support.fake_site import REPOSITORY, FakeSite
from support.processes import clean_environment, marked, wait_until

CHECKS = ("-c", str(REPOSITORY / "reframe_checks"))
MICRO = (*CHECKS, "-n", "^MicroPingpong")


@pytest.fixture
def site(tmp_path: Path) -> FakeSite:
    return fake_site.make(tmp_path)


def campaign(site: FakeSite) -> dict[str, str]:
    return {"FABRICBENCH_CAMPAIGN": str(site.root / "campaign")}


def launches(site: FakeSite) -> dict[str, Path]:
    """Returns the launch directories by ``stack/check-name``."""
    files = (site.root / "campaign/launches").glob("*/*/*/*/Micro*/launch.json")
    return {f"{path.parents[1].name}/{path.parent.name}": path.parent for path in files}


def states(site: FakeSite) -> dict[str, str]:
    """Returns the state of each launch by ``stack messages``."""
    from fabricbench.campaign.collect import collect

    records = [collect(path) for path in launches(site).values()]
    return {f"{r.launch.stack} {r.launch.messages}": r.state for r in records if r.launch}


def test_a_working_site_passes_and_leaves_a_campaign_of_one_block(site: FakeSite) -> None:
    result = site.reframe(*MICRO, "-r", **campaign(site))
    assert result.returncode == 0, result.stdout
    assert set(states(site).values()) == {"ok"}
    assert len(launches(site)) == 4
    facts = json.loads((site.root / "campaign/campaign.json").read_text())
    assert facts["tier"] == "single"


def test_a_further_session_keeps_the_earlier_launches(site: FakeSite) -> None:
    """ReFrame names a stage directory by the parameters of the test only, and empties an existing one."""
    one = (*MICRO, "-p", "^one$", "-r")
    bound = ("-S", "MicroPingpong.binding=none")
    for more in ((), (), bound):
        result = site.reframe(*one, *more, **campaign(site))
        assert result.returncode == 0, result.stdout
    directories = sorted(path.parent for path in (site.root / "campaign/launches").glob("*/*/*/*/Micro*/launch.json"))
    assert [path.parents[3].name for path in directories] == ["b000.s00"] * 2 + ["b000.s02"] * 2
    assert all((path / "end").exists() for path in directories)


def test_a_failing_benchmark_does_not_pass(site: FakeSite) -> None:
    (site.stack("one") / "break-exit").touch()
    result = site.reframe(*MICRO, "-r", **campaign(site))
    assert result.returncode == 1
    assert "wrong byte at offset 7" in result.stdout
    assert states(site) == {
        "one small": "failed",
        "one large": "failed",
        "two small": "ok",
        "two large": "ok",
    }


def test_a_wire_up_that_failed_is_repeated_in_the_next_block(site: FakeSite) -> None:
    broken = site.stack("one") / "break-wireup"
    broken.touch()
    one = (*MICRO, "-p", "^one$", "-r")
    result = site.reframe(*one, **campaign(site))
    assert result.returncode == 1
    assert "one@shm: unknown: no wire-up was measured on this lane: exit status 1: no slots free" in result.stdout
    broken.unlink()
    result = site.reframe(*one, FABRICBENCH_BLOCK="1", **campaign(site))
    assert result.returncode == 0, result.stdout
    records = [record for record in read_campaign(site.root / "campaign").records if record.launch]
    states = [(r.directory.partition("/")[0], r.launch.mode, r.state) for r in records if r.launch]
    assert sorted(states) == [
        *[("b000.s00", "timed", "unknown")] * 2, ("b000.s00", "wireup", "failed"),
        *[("b001.s00", "timed", "ok")] * 2, ("b001.s00", "wireup", "ok"),
    ]  # fmt: skip


def test_a_missing_metric_fails(site: FakeSite) -> None:
    (site.stack("two") / "break-row").touch()
    result = site.reframe(*MICRO, "-r", **campaign(site))
    assert result.returncode == 1
    assert "pingpong's latency at 8 bytes, which is missing" in result.stdout
    assert states(site)["two small"] == "unreadable"


def test_a_timeout_is_recorded_with_a_reason(site: FakeSite) -> None:
    (site.stack("one") / "break-hang").touch()
    result = site.reframe(*MICRO, "-r", "-S", "MicroPingpong.limit_seconds=1", **campaign(site))
    assert result.returncode == 1
    assert "ended at its time limit of 1 s" in result.stdout
    ends = [json.loads((path / "end").read_text()) for name, path in launches(site).items() if name.startswith("one")]
    assert [end["timed_out"] for end in ends] == [True, True]


def test_single_ranks_from_a_wrong_pmi_do_not_pass(site: FakeSite) -> None:
    (site.stack("one") / "break-pmi").touch()
    result = site.reframe(*MICRO, "-r", **campaign(site))
    assert result.returncode == 1
    assert "expected 2 ranks, not 1" in result.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ("-c", "no-such-folder", "-r"),
        (*CHECKS, "-n", "^NoSuchCheck", "-r"),
        (*CHECKS, "--system=generic", "-r"),
        (*CHECKS, "-p", "nosuchstack", "-r"),
    ],
)
def test_a_selection_without_test_cases_is_an_error(site: FakeSite, arguments: tuple[str, ...]) -> None:
    result = site.reframe(*arguments, **campaign(site))
    assert result.returncode != 0, result.stdout


def test_no_configuration_is_an_error(site: FakeSite) -> None:
    result = site.reframe(*MICRO, "-r", **campaign(site), RFM_CONFIG_FILES="", RFM_SYSTEM="")
    assert result.returncode == 2
    assert "the system 'generic' of ReFrame's configuration has no fabrics; " in result.stdout
    assert f"source {site.environment['FABRICBENCH_BUILD']}/env.sh" in result.stdout


def test_a_check_that_cannot_be_imported_is_an_error(site: FakeSite, tmp_path: Path) -> None:
    folder = tmp_path / "reframe_checks"
    subprocess.run(["cp", "-r", str(REPOSITORY / "reframe_checks"), str(folder)], check=True)
    (folder / "broken.py").write_text("import no_such_module\nimport reframe as rfm\n@rfm.simple_test\nclass A: ...\n")
    result = site.reframe("-c", str(folder), "-n", "MicroPingpong", "-r", **campaign(site))
    assert result.returncode == 2
    assert "skipping test file" in result.stderr
    assert "broken.py" in result.stderr


def test_environments_do_not_leak_between_systems() -> None:
    from fabricbench.site.settings import load_settings, settings_file, systems

    for system in systems():
        configuration = load_settings(settings_file(system)).configuration
        for section in ("environments", "general", "storage"):
            items = configuration[section]
            assert isinstance(items, list)
            assert all(item["target_systems"] == [system] for item in items)


def test_every_stack_uses_its_own_launcher(site: FakeSite) -> None:
    result = site.reframe(*MICRO, "-r", **campaign(site))
    assert result.returncode == 0
    for directory in launches(site).values():
        script = (directory / "rfm_job.sh").read_text()
        assert "fabricbench-launch" in script
        launcher = site.stack(directory.parent.name) / "prefix/bin/mpirun"
        assert f" -- {launcher} -np 2 env LD_PRELOAD=" in script.replace("'", "")


def test_a_killed_reframe_leaves_nothing_running(site: FakeSite) -> None:
    (site.stack("one") / "break-hang").touch()
    mark = f"FABRICBENCH_TEST_MARK=killed-{os.getpid()}"
    key, _, value = mark.partition("=")
    process = subprocess.Popen(
        [str(Path(sys.executable).with_name("reframe")), *MICRO, "-p", "one", "-r"],
        env={**site.environment, **campaign(site), key: value},
        cwd=REPOSITORY,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_until(lambda: any((path / "begin").exists() for path in launches(site).values()), "a launch")
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    wait_until(lambda: not marked(mark), "the end of every process")
    assert set(states(site).values()) == {"unfinished"}


def test_launches_never_overlap(site: FakeSite) -> None:
    result = site.reframe(*MICRO, "-r", "--exec-policy=async", **campaign(site))
    assert result.returncode == 0, result.stdout
    spans = []
    for begin in (site.root / "campaign").rglob("begin"):
        start = json.loads(begin.read_text())["time"]
        spans.append((start, json.loads(begin.with_name("end").read_text())["time"]))
    spans.sort()
    assert len(spans) == 6  # four launches, two wire-ups
    assert all(earlier[1] <= later[0] for earlier, later in itertools.pairwise(spans))


@pytest.mark.parametrize("arguments", [("-L",), ("-lC",), ("--dry-run", "-n", "^MicroPingpong|^ImbBarrier")])
def test_listing_makes_no_campaign(site: FakeSite, arguments: tuple[str, ...]) -> None:
    result = site.reframe(*CHECKS, *arguments, **campaign(site))
    assert result.returncode == 0, result.stdout + result.stderr
    assert not list(site.root.rglob("launch.json"))
    assert not list(site.root.rglob("skipped.json"))


def test_every_lane_has_every_check() -> None:
    """The quick tier of the local system, on its six lanes of MPI; the number of cores does not matter."""
    environment = {
        **clean_environment(),
        "RFM_CONFIG_FILES": str(REPOSITORY / "site/local/settings.py"),
        "RFM_SYSTEM": "local",
    }
    result = reframe_inside(*CHECKS, "-t", "quick", "-lC", environment=environment)
    from fabricbench.parsers.tools.npb import KERNELS
    from fabricbench.runner.reframe import cases
    from fabricbench.site.settings import lanes

    of_mpi = [lane for lane in lanes("local") if lane.stack.level == "mpi"]

    small_and_large, small = 2, 1
    checks = {"MicroPingpong": small_and_large, "ImbPointToPoint": small_and_large, "ImbBarrier": small}
    checks |= {"ImbCollective": 4 * small_and_large, "NasQuick": len(KERNELS)}
    checks |= {"Gromacs": 1, "GromacsWhole": 1, "GromacsProfile": 1}
    names = Counter(case.check_class for case in cases(result.stdout.splitlines()))
    profiled = [lane for lane in of_mpi if lane.installed and lane.installed.gromacs]
    expected = {name: len(of_mpi) * count for name, count in checks.items()}
    on_profiled = {"NasQuickProfile": len(KERNELS), "QuickMessages": 1, "QuickCollective": 2}
    assert names == Counter(expected | {name: len(profiled) * count for name, count in on_profiled.items()})


def test_a_broken_bound_fails_in_reframe(site: FakeSite) -> None:
    (site.stack("two") / "latency").write_text("900")
    result = site.reframe(*MICRO, "-r", **campaign(site))
    assert result.returncode == 1
    assert "pingpong_latency_8B" in result.stdout


def test_missing_stacks_and_programs_are_skipped_with_a_reason(site: FakeSite) -> None:
    (site.stack("two") / "stack.json").unlink()
    result = site.reframe(*CHECKS, "-n", "^MicroPingpong|^Imb", "-r", **campaign(site))
    assert result.returncode == 0, result.stdout
    skips = [json.loads(path.read_text()) for path in (site.root / "campaign").rglob("skipped.json")]
    reasons = {(skip["stack"], skip["tool"]): skip["reason"] for skip in skips}
    assert reasons["two", "micro"] == "the stack two is not set up on this machine"
    assert reasons["one", "imb"] == "IMB-MPI1 is not installed for the stack one"
