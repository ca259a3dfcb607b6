# SPDX-License-Identifier: Apache-2.0
"""Nodes for a block: one allocation of Slurm, inside which ReFrame starts the block's launches.

``salloc`` holds the allocation on this node for as long as ReFrame runs, and gives it back when either ends. Its job
carries the run's mark in its name, so that nothing stays in the queue whatever is killed.
"""

import re
import shlex
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

LIMIT_SECONDS = 20
NEVER = re.compile(
    r"DOWN|DRAINED|ReqNodeNotAvail|PartitionNodeLimit|PartitionTimeLimit|PartitionInactive|Invalid|BadConstraints"
)
"""Reasons to wait that do not go away by waiting."""
_GRANTED = re.compile(r"^salloc: Granted job allocation (\d+)")
_LOST = re.compile(r"^salloc: (?:error: )?(.*(?:time limit|Node failure|revoked).*)")
_ERROR = re.compile(r"^salloc: error: (.*)")


@dataclass(frozen=True, slots=True)
class Request:
    """What a block needs: nodes by the access options of its fabrics, for at most so many minutes."""

    access: tuple[str, ...]
    nodes: int
    minutes: int
    exclusive: bool

    @property
    def _options(self) -> list[str]:
        """``access`` as words: an entry may hold an option and its value."""
        return [word for entry in self.access for word in shlex.split(entry)]

    def command(self, mark: str) -> list[str]:
        """What stands before ReFrame's command; ReFrame dies with it, however that comes about."""
        return [
            *("salloc", *self._options, f"--nodes={self.nodes}", *(["--exclusive"] if self.exclusive else [])),
            *(f"--time={self.minutes}", f"--job-name={job_name(mark)}", "--kill-command=TERM"),
            *("setpriv", "--pdeathsig", "KILL"),
        ]

    def two_ranks(self, pmi: str) -> list[str]:
        """What starts two ranks on such nodes at once, or says that none are free."""
        return [
            *("srun", *self._options, f"--nodes={min(2, self.nodes)}", "--ntasks=2", f"--immediate={LIMIT_SECONDS}"),
            *([f"--mpi={pmi}"] if pmi else []),
            *("--time=1", "--kill-on-bad-exit=1", "--input=none", "--job-name=fabricbench-doctor"),
        ]


@dataclass(frozen=True, slots=True)
class Job:
    """A job as ``squeue`` shows it."""

    id: str
    state: str
    reason: str


def job_name(mark: str) -> str:
    """What the jobs of a run are called."""
    return f"fabricbench-{mark}"


def jobs(mark: str) -> list[Job]:
    """The run's jobs that are in the queue."""
    words = ["squeue", "-h", "-n", job_name(mark), "-o", "%i|%T|%r"]
    found = [line.split("|", 2) for line in _output(words).splitlines()]
    return [Job(*fields) for fields in found if len(fields) == 3]


def cancel(mark: str) -> None:
    """End the run's jobs, waiting or running; returns when none is left in the queue, or after a while."""
    for job in jobs(mark):
        _output(["scancel", "--quiet", job.id])


def granted(lines: Iterable[str]) -> str | None:
    """The allocation that ``salloc`` says it has; None before."""
    return next((found.group(1) for line in lines if (found := _GRANTED.match(line))), None)


def why_refused(lines: Iterable[str]) -> str:
    """What ``salloc`` says is wrong with what was asked; empty where nothing is."""
    return "; ".join(found.group(1) for line in lines if (found := _ERROR.match(line)))


def why_lost(lines: Iterable[str]) -> str:
    """What ``salloc`` says became of an allocation that ended before its command, and the nodes that are down; empty
    where it says nothing."""
    said = "; ".join(found.group(1) for line in lines if (found := _LOST.match(line)))
    return "; ".join(part for part in (said, nodes_down()) if part) if said else ""


def nodes_down() -> str:
    """The nodes that cannot be used, each with Slurm's reason; empty where all can."""
    lines = _output(["sinfo", "-h", "-N", "-t", "down,drained,draining,fail,no_respond", "-o", "%N: %T, %E"])
    return "; ".join(sorted(set(lines.splitlines())))


def _output(words: Sequence[str]) -> str:
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout
