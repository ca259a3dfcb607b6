# SPDX-License-Identifier: Apache-2.0
"""Reads Slurm's state by its commands: partitions, nodes, jobs, PMI, and the outcome of a trial submission."""

import os
import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

PATIENCE_SECONDS = 30
START_SECONDS = 20
"""The time within which a node must be free for a short job."""
UP = ("idle", "mixed", "allocated", "completing", "planned", "reserved")
"""The base states of nodes that run jobs, now or later."""
_MARKS = "*~#!%$@^+-"
_FIELD = re.compile(r"(?:^| )([A-Za-z][\w:]*)=(.*?)(?= [A-Za-z][\w:]*=|$)")


class NoAnswer(Exception):
    """A query of Slurm failed; the text is the reason."""


class Refused(NoAnswer):
    """Slurm refused a request; the text is its reason."""


@dataclass(frozen=True, slots=True)
class Node:
    """A node in one of its partitions; ``state`` and ``reason`` as sinfo prints them, ``reason`` empty for none."""

    name: str
    partition: str
    state: str
    reason: str

    @property
    def up(self) -> bool:
        """Whether the node runs jobs. A node that does not respond (``*``) runs none."""
        return self.state.rstrip(_MARKS) in UP and "*" not in self.state

    def __str__(self) -> str:
        return f"{self.name} is {self.state}" + (f" ({self.reason})" if self.reason else "")


@dataclass(frozen=True, slots=True)
class Partition:
    """A partition; jobs start in it if its ``availability`` is ``up``."""

    name: str
    availability: str
    default: bool


def partitions() -> dict[str, Partition]:
    """All partitions by name, those without nodes too."""
    result = {}
    for line in _ask("sinfo", "--noheader", "--all", "--format=%P|%a").splitlines():
        name, _, availability = line.partition("|")
        result[name.rstrip("*")] = Partition(name.rstrip("*"), availability, name.endswith("*"))
    return result


def nodes() -> list[Node]:
    """All nodes. A node of several partitions is listed for each."""
    result = []
    for line in _ask("sinfo", "--noheader", "--all", "--Node", "--format=%N|%R|%T|%E").splitlines():
        name, _, rest = line.partition("|")
        partition, _, rest = rest.partition("|")
        state, _, reason = rest.partition("|")
        result.append(Node(name, partition, state, "" if reason == "none" else _one_line(reason)))
    return result


def offered_pmi() -> set[str]:
    """The arguments that ``srun --mpi`` accepts: plugins, and the versions of PMIx.

    Slurm 22.05 and later print ``MPI plugin types are...``, a plugin a line, and ``specific pmix plugin versions
    available: pmix_v4``; up to 20.11 it was ``srun: MPI types are...`` and ``srun: pmi2``, on the standard error.
    """
    names: set[str] = set()
    process = _process("srun", "--mpi=list")
    for line in (process.stdout + process.stderr).splitlines():
        text = line.removeprefix("srun:").strip()
        if text.endswith("..."):
            continue
        _, _, versions = text.partition("available:")
        names.update(word.strip() for word in (versions or text).split(",") if word.strip())
    return names


@dataclass(frozen=True, slots=True)
class Job:
    """A job in the queue, its state and the reason for which it waits, as squeue prints them."""

    id: str
    state: str
    reason: str


def jobs(name: str) -> list[Job]:
    """The jobs of this name that are pending, running or completing."""
    lines = _ask("squeue", "--noheader", f"--name={name}", "--format=%i|%T|%r").splitlines()
    return [Job(*fields) for fields in (line.split("|", 2) for line in lines) if len(fields) == 3]


def cancel(job: str) -> None:
    """Cancels a job. It may still be completing when this returns."""
    _ask("scancel", job)


def host_names(hostlist: str) -> list[str]:
    """The host names of a list in Slurm's short form, ``n[1-3]``; none of an empty list."""
    return _ask("scontrol", "show", "hostnames", hostlist).split() if hostlist else []


def why_not_taken(options: Sequence[str]) -> str:
    """Returns why Slurm would refuse a job with these options; empty if it would accept it.

    Nothing is submitted. Raises NoAnswer if Slurm cannot be queried.
    """
    try:
        _ask("sbatch", "--test-only", *options, "--wrap=true")
    except Refused as refusal:
        return str(refusal)
    return ""


def output_on_node(access: Sequence[str], *command: str) -> str:
    """Runs a command on one node of a partition, by a job of its own, and returns its standard output.

    ``access``: the options of srun that select the partition. Raises NoAnswer if no node is free within
    ``START_SECONDS``, or if the command fails.
    """
    job = ("--nodes=1", "--ntasks=1", f"--immediate={START_SECONDS}", "--time=1", "--job-name=fabricbench-site")
    return _ask("srun", *access, *job, "--input=none", *command)


def configuration() -> dict[str, str]:
    """The settings of ``scontrol show config`` by name."""
    lines = (line.partition("=") for line in _ask("scontrol", "show", "config").splitlines())
    return {name.strip(): value.strip() for name, separator, value in lines if separator}


def topology() -> str:
    """The output of ``scontrol show topology``."""
    return _ask("scontrol", "show", "topology")


def entities(kind: str) -> list[dict[str, str]]:
    """The fields of every ``partition`` or ``node``, as ``scontrol --all --oneliner show`` prints them.

    A value extends to the next word with an equals sign, because some values contain blanks.
    """
    lines = _ask("scontrol", "--all", "--oneliner", "show", kind).splitlines()
    # The reason of a node, which a person writes, comes last and may look like fields: the first ones count.
    return [fields for line in lines if (fields := dict(reversed(_FIELD.findall(line))))]


def _ask(*argv: str) -> str:
    """The standard output of a command of Slurm; raises NoAnswer as ``_process`` does."""
    return _process(*argv).stdout


def _process(*argv: str) -> subprocess.CompletedProcess[str]:
    """Runs a command of Slurm; raises NoAnswer with its error message if it is missing, fails or hangs."""
    file = os.environ.get("SLURM_CONF")
    if file and not Path(file).exists():  # Slurm itself would wait a minute for it
        raise NoAnswer(f"SLURM_CONF names {file}, which does not exist")
    try:
        process = subprocess.run(
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
        raise NoAnswer(f"{argv[0]} did not answer within {PATIENCE_SECONDS} s") from None
    if process.returncode:
        raise Refused(_own_words(process.stderr or process.stdout) or f"{argv[0]} ended with {process.returncode}")
    return process


def _own_words(text: str) -> str:
    """The line of an error message that names the cause: the last fatal one, else the first."""
    lines = [_one_line(line) for line in text.splitlines() if line.strip()]
    return next((line for line in reversed(lines) if "fatal:" in line or "failure:" in line), (lines or [""])[0])


def _one_line(text: str) -> str:
    return " ".join(text.split())[:300]
