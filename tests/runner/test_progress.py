# SPDX-License-Identifier: Apache-2.0
"""The estimate of the remaining time counts launches and skips, and not the wire-ups before them."""

import json
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from fabricbench.runner import progress
from fabricbench.runner.progress import LEAST_COUNT, CampaignProgress


def launch(stage: Path, name: str, seconds: float, mode: str = "timed") -> None:
    directory = stage / "eth/mpich" / name
    directory.mkdir(parents=True)
    facts = {"stack": "mpich", "fabric": "eth", "tool": "micro", "benchmark": "pingpong", "mode": mode}
    (directory / "launch.json").write_text(json.dumps(facts))
    (directory / "end").write_text(json.dumps({"timed_out": False, "status": 0, "seconds": seconds}))


@pytest.mark.parametrize(
    ("budget_seconds", "expected"),
    [(None, "1:10"), (3600.0, "1:10"), (150.0, "0:40"), (0.0, "0:30")],
    ids=["none", "more than enough", "ends in the second block", "ends after the first block"],
)
def test_the_remaining_time(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    budget_seconds: float | None,
    expected: str,
) -> None:
    """A wire-up of 100 s, then launches of 2 s each: the last line says 2 s for each of those that remain."""
    now = [0.0]
    clock = SimpleNamespace(monotonic=lambda: now[0], strftime=time.strftime)
    monkeypatch.setattr(progress, "time", clock)
    with CampaignProgress(tmp_path / "run.log", 2, 20, budget_seconds) as shown:
        launch(tmp_path / "stage", "WireUp", 100.0, "wireup")
        now[0] = 100.0
        shown.update(tmp_path / "stage", 0)
        for number in range(LEAST_COUNT):
            launch(tmp_path / "stage", f"Micro_{number}", 2.0)
            now[0] += 2.0
            shown.update(tmp_path / "stage", 0)
    left = [line.rpartition("left ")[2] for line in capsys.readouterr().out.splitlines()]
    assert left == ["?"] * LEAST_COUNT + [expected]
