# SPDX-License-Identifier: Apache-2.0
"""Slurm's messages for launches that were lost with their nodes (srun 22.05), and those of launches that failed."""

from pathlib import Path

import pytest

from fabricbench.launch.lost import why_lost


@pytest.mark.parametrize(
    "line",
    [
        "srun: error: Node failure on n2",
        "srun: error: Application launch failed: Connection reset by peer",
        "srun: error: Task launch for StepId=6.1 failed on node n2: Communication connection failure",
        "slurmstepd-n1: error: *** STEP 6.2 ON n1 CANCELLED AT 2026-11-22T04:00:31 DUE TO TIME LIMIT ***",
        "srun: error: Unable to create step for job 7: Job/step already completing or completed",
        "srun: error: Unable to allocate resources: Invalid job id specified",
        "salloc: Job allocation 5 has been revoked.",
    ],
)
def test_a_launch_that_lost_its_nodes_is_recognised_by_slurms_message(tmp_path: Path, line: str) -> None:
    (tmp_path / "stderr").write_text(f"rank 0: hello\n{line}\nsrun: error: n1: task 0: Killed\n")
    assert why_lost(tmp_path) == line


@pytest.mark.parametrize(
    "text",
    [
        "",
        "srun: error: n1: task 0: Exited with exit code 1\nslurmstepd-n1: error: *** STEP 4.0 ON n1 CANCELLED AT 1 ***",
        "srun: error: task 0 launch failed: Unspecified error\nsrun: error: n2: task 1: Killed",
        "slurmstepd: error: execve(): /nowhere: No such file or directory",
        "srun: Job step creation temporarily disabled, retrying (Requested nodes are busy)",
        "srun: error: Unable to create step for job 7: More processors requested than permitted",
        "srun: error: Unable to create step for job 7: Invalid MPI plugin name",
        "application: Node failure was simulated, Connection reset",
    ],
)
def test_a_launch_that_failed_by_itself_was_not_lost(tmp_path: Path, text: str) -> None:
    (tmp_path / "stderr").write_text(text)
    assert why_lost(tmp_path) == ""


def test_a_launch_without_a_message_is_not_lost(tmp_path: Path) -> None:
    assert why_lost(tmp_path) == ""
