# SPDX-License-Identifier: Apache-2.0
"""Each process executes the files of a site once."""

from collections import Counter

import pytest

from support.fake_site import FakeSite

COUNT = """
import os
with open({log!r}, "a") as stream:
    stream.write(f"{name} {{os.getpid()}}\\n")
"""


@pytest.mark.parametrize(
    ("command", "processes"),
    [(("doctor", "--site"), 1), (("run", "campaign", "--dry-run", "--check", "MicroPingpong"), 2)],
)
def test_settings_and_stacks_are_executed_once_per_process(
    site: FakeSite, command: tuple[str, ...], processes: int
) -> None:
    """The dry run is a process of ReFrame."""
    log = site.root / "executions"
    for file in (site.settings, site.root / "site/stacks.py"):
        with file.open("a") as stream:
            stream.write(COUNT.format(log=str(log), name=file.name))
    process = site.fabricbench(
        *(str(site.root / word) if word == "campaign" else word for word in command), "--system", "fake"
    )
    assert process.returncode == 0, process.stdout + process.stderr
    executions = Counter(log.read_text().splitlines())
    assert set(executions.values()) == {1}
    assert len(executions) == 2 * processes
