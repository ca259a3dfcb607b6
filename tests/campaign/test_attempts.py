# SPDX-License-Identifier: Apache-2.0
"""Selects the attempt that finishes a launch: one that ended, or the last of the permitted lost attempts."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from fabricbench.campaign.attempts import finishing_attempt, first_losses, loss_reason

LAUNCH = Path(__file__).resolve().parents[1] / "data/launches/mpich-tcp-imb-pt2pt-small"
NODE = "srun: error: Node failure on n2"
TIME = "slurmstepd-n1: error: *** STEP 6.2 ON n1 CANCELLED AT 2026-11-22T04:00:31 DUE TO TIME LIMIT ***"
NO_JOB = "srun: error: Unable to create step for job 7: Job/step already completing or completed"


def attempt(campaign: Path, session: int, stderr: str = "", **end: Any) -> Path:
    """Makes an attempt in a session of block 0 with changes to its ``end``; ``gone=1`` removes ``end``."""
    directory = campaign / f"launches/b000.s{session:02d}/local/tcp/mpich/Imb_0"
    shutil.copytree(LAUNCH, directory)
    facts = json.loads((directory / "end").read_text())
    (directory / "end").write_text(json.dumps(facts | end))
    (directory / "stderr").write_text(stderr)
    if "gone" in end:
        (directory / "end").unlink()
    return directory


HUNG: dict[str, Any] = {"status": 124, "timed_out": True}
LOST: dict[str, Any] = {"status": 1, "stderr": NODE}


@pytest.mark.parametrize(
    ("tries", "last"),
    [
        ([{}], 0),
        ([{"status": 1}], 0),
        ([HUNG], None),
        ([HUNG, {}], 1),
        ([HUNG, {"status": 1}], 1),
        ([HUNG, HUNG], 1),
        ([LOST], None),
        ([LOST, HUNG], 1),
        ([{"gone": 1}] * 3, None),
        ([{"status": 127}] * 3, None),
        ([{"status": 1, "stderr": TIME}] * 3, None),
        ([{"status": 1, "stderr": NO_JOB}] * 3, None),
        ([{"status": 1, "stderr": TIME}, HUNG], None),
    ],
)
def test_the_attempt_that_finishes_a_launch(tmp_path: Path, tries: list[dict[str, Any]], last: int | None) -> None:
    directories = [attempt(tmp_path, session, **end) for session, end in enumerate(tries)]
    assert finishing_attempt(directories) == (None if last is None else directories[last])


def test_only_the_first_loss_in_a_block_is_repeated(tmp_path: Path) -> None:
    attempt(tmp_path, 0, **HUNG)
    (name,) = first_losses(tmp_path, 0, 0)
    assert first_losses(tmp_path, 1, 0) == {}
    attempt(tmp_path, 1, **HUNG)
    assert first_losses(tmp_path, 0, 1) == {}
    assert name == json.loads((LAUNCH / "launch.json").read_text())["id"]


def test_a_launch_whose_job_ended_is_not_among_the_losses(tmp_path: Path) -> None:
    directory = attempt(tmp_path, 0, status=1, stderr=TIME)
    assert loss_reason(directory).startswith("lost with its nodes")
    assert first_losses(tmp_path, 0, 0) == {}
