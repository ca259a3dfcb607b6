# SPDX-License-Identifier: Apache-2.0
"""Pending jobs that can never start are recognised by the reason that Slurm reports."""

from pathlib import Path

import pytest

from fabricbench.slurm.allocation import Request
from fabricbench.slurm.state import Job
from support import fake_slurm


@pytest.mark.parametrize(
    ("access", "reason", "hopeless"),
    [
        ("--partition=ib", "ReqNodeNotAvail, UnavailableNodes:n3", True),
        ("--partition=gige", "ReqNodeNotAvail, UnavailableNodes:n1", False),
        ("", "Nodes required for job are DOWN", False),
        ("--partition=closed -w n3", "ReqNodeNotAvail", True),
        ("--partition=gige -x n1", "ReqNodeNotAvail", True),
        ("--partition=ib", "Resources", False),
        ("--partition=gige", "PartitionTimeLimit", True),
    ],
)
def test_a_pending_job_that_cannot_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, access: str, reason: str, hopeless: bool
) -> None:
    """Nodes of other partitions do not count."""
    fake_slurm.install(tmp_path, monkeypatch)
    request = Request((access,), nodes=2, minutes=5, exclusive=True)
    assert request.hopeless(Job("1", "PENDING", reason)) is hopeless
