# SPDX-License-Identifier: Apache-2.0
"""A launch that was lost with its nodes says nothing of its lane: Slurm's words for it on its ``stderr``."""

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


def job_ended(words: str) -> bool:
    """Whether Slurm reports that the job ended while the launch ran, as a short allocation does, and no failed node."""
    return "Node failure" not in words and bool(_JOB_ENDED.search(words))


def why_lost(directory: Path) -> str:
    """What Slurm says became of the allocation under a launch that failed; empty where it says nothing."""
    try:
        text = read_ends(directory / "stderr", 0, LAST_BYTES).decode("utf-8", errors="replace")
    except OSError:
        return ""
    found = _WORDS.search(text)
    return " ".join(found.group().split())[:300] if found else ""
