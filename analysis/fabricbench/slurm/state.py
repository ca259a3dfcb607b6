# SPDX-License-Identifier: Apache-2.0
"""What Slurm says of itself: partitions, nodes and why they are down, jobs, PMI, and whether it would take a job."""

import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

PATIENCE_SECONDS = 30
UP = ("idle", "mixed", "allocated", "completing", "planned", "reserved")
"""Base states of nodes that run jobs, now or later."""
_MARKS = "*~#!%$@^+-"


class NoAnswer(Exception):
    """Slurm could not be asked, and why."""


class Refused(NoAnswer):
    """Slurm answered that it would not, and why."""


@dataclass(frozen=True, slots=True)
class Node:
    """A node within a partition; ``state`` as sinfo prints it, ``reason`` empty where none was given."""

    name: str
    partition: str
    state: str
    reason: str

    @property
    def up(self) -> bool:
        """Whether it runs jobs; one that does not respond (``*``) runs none."""
        return self.state.rstrip(_MARKS) in UP and "*" not in self.state

    def __str__(self) -> str:
        return f"{self.name} is {self.state}" + (f" ({self.reason})" if self.reason else "")


@dataclass(frozen=True, slots=True)
class Partition:
    """A partition; jobs start in it where it is ``up``."""

    name: str
    availability: str
    default: bool


def partitions() -> dict[str, Partition]:
    """All partitions by name, those without nodes too."""
    found = {}
    for line in _ask("sinfo", "--noheader", "--all", "--format=%P|%a").splitlines():
        name, _, availability = line.partition("|")
        found[name.rstrip("*")] = Partition(name.rstrip("*"), availability, name.endswith("*"))
    return found


def nodes() -> list[Node]:
    """All nodes, once for each of their partitions."""
    found = []
    for line in _ask("sinfo", "--noheader", "--all", "--Node", "--format=%N|%R|%T|%E").splitlines():
        name, _, rest = line.partition("|")
        partition, _, rest = rest.partition("|")
        state, _, reason = rest.partition("|")
        found.append(Node(name, partition, state, "" if reason == "none" else _one_line(reason)))
    return found


def offered_pmi() -> set[str]:
    """What ``srun --mpi`` takes: plugins, and the versions of PMIx.

    Slurm 22.05 and later print ``MPI plugin types are...``, a plugin a line, and ``specific pmix plugin versions
    available: pmix_v4``; up to 20.11 it was ``srun: MPI types are...`` and ``srun: pmi2``, on the standard error.
    """
    found: set[str] = set()
    for line in _ask("srun", "--mpi=list").splitlines():
        said = line.removeprefix("srun:").strip()
        if said.endswith("..."):
            continue
        _, _, versions = said.partition("available:")
        found.update(word.strip() for word in (versions or said).split(",") if word.strip())
    return found


@dataclass(frozen=True, slots=True)
class Job:
    """A job in the queue: its state and, where it waits, the reason, as squeue prints them."""

    id: str
    state: str
    reason: str


def jobs(name: str) -> list[Job]:
    """The jobs of this name that wait, run or come to their end."""
    lines = _ask("squeue", "--noheader", f"--name={name}", "--format=%i|%T|%r").splitlines()
    return [Job(*fields) for fields in (line.split("|", 2) for line in lines) if len(fields) == 3]


def cancel(job: str) -> None:
    """Ask for a job's end."""
    _ask("scancel", job)


def host_names(hostlist: str) -> list[str]:
    """The names in Slurm's short form, ``n[1-3]``; none in an empty one."""
    return _ask("scontrol", "show", "hostnames", hostlist).split() if hostlist else []


def why_not_taken(options: Sequence[str]) -> str:
    """Why Slurm would not take a job with these options; empty where it would. Nothing is submitted. NoAnswer where it
    does not say."""
    try:
        _ask("sbatch", "--test-only", *options, "--wrap=true")
    except Refused as refusal:
        return str(refusal)
    return ""


def _ask(*argv: str) -> str:
    """What a command prints; NoAnswer with its own words where it is not there, fails, or hangs."""
    configuration = os.environ.get("SLURM_CONF")
    if configuration and not Path(configuration).exists():  # Slurm itself would wait a minute for it
        raise NoAnswer(f"SLURM_CONF names {configuration}, which is not there")
    try:
        done = subprocess.run(
            argv,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=PATIENCE_SECONDS,
            env={**os.environ, "LC_ALL": "C"},
            check=False,
        )
    except FileNotFoundError:
        raise NoAnswer(f"no {argv[0]} on PATH") from None
    except OSError as error:
        raise NoAnswer(f"{argv[0]}: {error.strerror}") from None
    except subprocess.TimeoutExpired:
        raise NoAnswer(f"{argv[0]} said nothing for {PATIENCE_SECONDS} s") from None
    if done.returncode:
        raise Refused(_own_words(done.stderr or done.stdout) or f"{argv[0]} ended with {done.returncode}")
    return done.stdout + done.stderr if argv[0] == "srun" else done.stdout


def _own_words(text: str) -> str:
    """Of what a command said, the line that ended it, else the first."""
    lines = [_one_line(line) for line in text.splitlines() if line.strip()]
    return next((line for line in reversed(lines) if "fatal:" in line or "failure:" in line), (lines or [""])[0])


def _one_line(text: str) -> str:
    return " ".join(text.split())[:300]
