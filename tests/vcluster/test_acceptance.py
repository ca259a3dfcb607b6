# SPDX-License-Identifier: Apache-2.0
"""Executes the commands of docs/acceptance.md in order."""

import re
import subprocess
from pathlib import Path

import pytest

from fabricbench.campaign.read import read_campaign
from support.documents import document
from support.fake_site import REPOSITORY
from support.processes import clean_environment
from support.vcluster import RUN, Cluster

EXPECTED_STATUS = {"run": (0, 1), "judge": (0, 3, 4), "nodes": (1,)}
"""Accepted exit statuses by command: on a busy machine a launch may fail, and a clause remain undecided."""
_COMMAND = re.compile(r"^    ((?:NODES|site/vcluster/|fabricbench ).*)$", re.MULTILINE)


def test_the_commands_from_clause_to_verdict(tmp_path: Path, cluster: Cluster) -> None:
    if not (REPOSITORY / "build/env.sh").exists():
        pytest.skip("nothing is set up: run `make setup`")
    page = document("acceptance.md").text
    outputs: dict[str, str] = {}
    for line in _COMMAND.findall(page):
        command = line.partition("#")[0].strip().replace("campaigns/", f"{tmp_path}/")
        process = subprocess.run(
            ["bash", "-c", f". build/env.sh; {command}"], env=clean_environment(), cwd=REPOSITORY,
            capture_output=True, text=True, timeout=900, check=False,
        )  # fmt: skip
        words = command.split()
        accepted = EXPECTED_STATUS.get(words[1], (0,)) if words[0] == "fabricbench" else (0,)
        assert process.returncode in accepted, f"{command}\n{process.stdout[-3000:]}{process.stderr}"
        outputs[line.partition("#")[0].strip()] = process.stdout
    assert not RUN.exists()
    assert cluster.left_over() == []

    campaign = read_campaign(tmp_path / "accepted")
    states = [record.state for record in campaign.records]
    assert states.count("ok") >= 0.8 * len(states)
    assert "refuted" not in states
    assert {record.launch.block for record in campaign.records if record.launch} == set(range(6))
    assert (tmp_path / "accepted/report.html").exists()
    (judged,) = [text for line, text in outputs.items() if line == "fabricbench judge campaigns/accepted"]
    assert len(re.findall(r"^\w+ +gige-\S+/mpich@gige", judged, re.MULTILINE)) == 4
    (nodes_output,) = [text for line, text in outputs.items() if line.startswith("fabricbench nodes")]
    slowest = max(_nodes(nodes_output), key=lambda found: found[1])
    assert slowest[0] == "n3", nodes_output


def _nodes(text: str) -> list[tuple[str, float]]:
    """Returns names and slow-downs of the listed nodes."""
    words = [line.split() for line in text.splitlines()]
    return [
        (line[1], next(float(word) for word in line[2:] if word[0].isdigit())) for line in words if line[:1] == ["node"]
    ]
