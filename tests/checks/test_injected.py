# SPDX-License-Identifier: Apache-2.0
"""Tests that the checks with injected delays exist at the requested levels, and that bad levels are refused."""

from collections import Counter
from pathlib import Path

from fabricbench.launch.injection import LEVELS
from fabricbench.parsers.tools.npb import KERNELS
from fabricbench.runner import reframe
from support.command import inside
from support.fake_site import REPOSITORY
from support.processes import clean_environment


def cases(levels: str) -> Counter[str]:
    """The number of cases of each check with injected delays on one lane, in the tier standard on two ranks."""
    settings = {"RFM_CONFIG_FILES": str(REPOSITORY / "site/local/settings.py"), "RFM_SYSTEM": "local:tcp"}
    variables = {**clean_environment(), **settings, LEVELS: levels}
    variables |= {"FABRICBENCH_NPB_RANKS": "2", "FABRICBENCH_GROMACS_RANKS": "2"}
    options = ["-c", str(reframe.checks_directory()), "-t", "^standard$", "-p", "^mpich$", "--list=C"]
    names = [case.check_class for case in reframe.cases(reframe.run(options, variables).lines)]
    return Counter(name for name in names if name.endswith("Injected"))


def test_each_application_has_a_case_at_each_level() -> None:
    kernels, systems = 2 * len(KERNELS), 2 * 3
    expected = {"NPBInjected": kernels, "NasQuickInjected": kernels, "GromacsInjected": systems}
    assert cases("latency=5us overhead=2us") == expected
    assert cases("") == {}


def test_bad_levels_are_refused(tmp_path: Path) -> None:
    for value in ("latency=5", "jitter=5us", "per_byte=1us", "latency=5us,,"):
        done = inside("run", str(tmp_path / "campaign"), "--inject", value)
        assert done.returncode == 2, done.stdout
        assert done.stderr.startswith("fabricbench: --inject: ")
        assert done.stderr.count("\n") == 1


def test_a_check_without_an_application_is_refused(tmp_path: Path) -> None:
    done = inside("run", str(tmp_path / "campaign"), "--check", "MicroPingpong", "--inject", "latency=5us")
    assert done.returncode == 2, done.stdout
    assert "no chosen check is an application" in done.stderr
