# SPDX-License-Identifier: Apache-2.0
"""Recognises launches that were lost with their nodes or their allocation, by Slurm's messages on ``stderr``.

Such a launch gives no information about its lane.
"""

import re
from pathlib import Path

from fabricbench.files.reading import read_ends

LAST_BYTES = 16384
_GONE = r"Job/step already completing|Invalid job id|Job has already finished|Expired|Node failure"
_WORDS = re.compile(
    r"(?:srun|slurmstepd[^:\n]*|salloc): (?:error: )?[^\n]*?"
    r"(?:Node failure|NODE FAILURE|DUE TO (?:TIME LIMIT|PREEMPTION|JOB REQUEUE)|has been revoked|"
    rf"Unable to (?:confirm|create step)[^\n]*(?:{_GONE})|Unable to allocate resources: Invalid job id|"
    r"launch (?:for StepId=\S+ )?failed[^:\n]*: (?:Communication|Connection|Socket timed out|Zero Bytes))[^\n]*"
)
_JOB_ENDED = re.compile(rf"DUE TO (?:TIME LIMIT|PREEMPTION|JOB REQUEUE)|has been revoked|{_GONE}|Invalid job id")


def job_ended(message: str) -> bool:
    """Returns whether Slurm reports the end of the job during the launch, and no failed node."""
    return "Node failure" not in message and bool(_JOB_ENDED.search(message))


def why_lost(directory: Path) -> str:
    """Returns Slurm's message about the lost allocation of a launch that failed; empty if there is none."""
    try:
        text = read_ends(directory / "stderr", 0, LAST_BYTES).decode("utf-8", errors="replace")
    except OSError:
        return ""
    match = _WORDS.search(text)
    return " ".join(match.group().split())[:300] if match else ""
