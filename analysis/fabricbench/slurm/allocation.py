# SPDX-License-Identifier: Apache-2.0
"""Nodes for a block: one allocation of Slurm, inside which ReFrame starts the block's launches.

``salloc`` holds the allocation on this node for as long as ReFrame runs, and gives it back when either ends. Its job
carries the run's mark in its name, so that nothing stays in the queue whatever is killed.
"""

import argparse
import re
import shlex
import shutil
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from fabricbench.errors import BadInput
from fabricbench.site.fabric import Fabric
from fabricbench.slurm import state as slurm_state
from fabricbench.slurm.state import Job, NoAnswer, Node, Partition, host_names

START_SECONDS = 20
END_SECONDS = 30
_NEVER = re.compile(r"PartitionNodeLimit|PartitionTimeLimit|PartitionInactive|PartitionDown|Invalid|BadConstraints")
"""Reasons to wait that do not go away by waiting …"""
_NODES = re.compile(r"DOWN|DRAINED|ReqNodeNotAvail")
"""… and those that do where enough nodes are up: they may be somebody else's for now."""
_GRANTED = re.compile(r"^salloc: Granted job allocation (\d+)")
_LOST = re.compile(r"^salloc: (?:error: )?(.*(?:time limit|Node failure|revoked).*)")
_ERROR = re.compile(r"^salloc: error: (.*)")


@dataclass(frozen=True, slots=True)
class Request:
    """What a block needs: nodes by the access options of its fabrics, for at most so many minutes, with room for
    ``cores`` ranks on each; None where they are asked for alone, and have it."""

    access: tuple[str, ...]
    nodes: int
    minutes: int
    exclusive: bool
    cores: int | None = None

    @property
    def options(self) -> list[str]:
        """``access`` as words: an entry may hold an option and its value."""
        return [word for entry in self.access for word in shlex.split(entry)]

    @property
    def places(self) -> argparse.Namespace:
        """``partition``, ``nodelist`` and ``exclude`` among the options; ValueError where they are no words."""
        parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
        for short, long in (("-p", "--partition"), ("-w", "--nodelist"), ("-x", "--exclude")):
            parser.add_argument(short, long, default="")
        return parser.parse_known_args(self.options)[0]

    def partitions(self, there: Mapping[str, Partition]) -> list[str]:
        """Those that it names, else Slurm's default."""
        named = self.places.partition
        return named.split(",") if named else [partition.name for partition in there.values() if partition.default]

    def within(self, there: Mapping[str, Partition], nodes: Iterable[Node]) -> dict[str, Node]:
        """The nodes of its partitions, up or not, without those that it excludes."""
        names, left_out = self.partitions(there), host_names(self.places.exclude)
        return {node.name: node for node in nodes if node.partition in names and node.name not in left_out}

    @property
    def demands(self) -> list[str]:
        """All that the block's job asks, as options of salloc and sbatch."""
        return [
            *(*self.options, f"--nodes={self.nodes}", *(["--exclusive"] if self.exclusive else [])),
            *([f"--ntasks-per-node={self.cores}"] if self.cores else []),
            f"--time={self.minutes}",
        ]

    def command(self, mark: str) -> list[str]:
        """What stands before ReFrame's command; ReFrame dies with it, however that comes about."""
        return [
            *("salloc", *self.demands, f"--job-name={job_name(mark)}", "--kill-command=TERM"),
            *("setpriv", "--pdeathsig", "KILL"),
        ]

    def two_ranks(self, pmi: str) -> list[str]:
        """What starts two ranks on such nodes at once, or says that none are free."""
        return [
            *("srun", *self.options, f"--nodes={min(2, self.nodes)}", "--ntasks=2", f"--immediate={START_SECONDS}"),
            *([f"--mpi={pmi}"] if pmi else []),
            *("--time=1", "--kill-on-bad-exit=1", "--input=none", "--job-name=fabricbench-doctor"),
        ]

    def hopeless(self, job: Job) -> bool:
        """Whether the job waits for what waiting does not bring."""
        if job.state != "PENDING":
            return False
        if _NODES.search(job.reason):
            try:
                within = self.within(slurm_state.partitions(), slurm_state.nodes())
                listed = [within[name] for name in host_names(self.places.nodelist) if name in within]
            except NoAnswer:
                return False
            return sum(node.up for node in within.values()) < self.nodes or not all(node.up for node in listed)
        return _NEVER.search(job.reason) is not None


def request_of(fabric: Fabric) -> Request | None:
    """Returns the request of a block on ``fabric``; None if its scheduler is not Slurm."""
    scheduler, nodes = fabric.scheduler, fabric.nodes
    if not scheduler.is_slurm:
        return None
    cores = None if scheduler.exclusive else nodes.cores
    return Request(tuple(scheduler.access), nodes.count, scheduler.minutes, scheduler.exclusive, cores)


def job_name(mark: str) -> str:
    """What the jobs of a run are called."""
    return f"fabricbench-{mark}"


def demand_slurm(settings: Path) -> None:
    """BadInput where no allocation can be asked for from here."""
    try:
        slurm_state.partitions()
        if shutil.which("salloc") is None:
            raise NoAnswer("no salloc on PATH")
    except NoAnswer as answer:
        hint = "run it where jobs are submitted; fabricbench doctor --site checks what else is asked"
        raise BadInput(f"its fabrics need Slurm: {answer}", where=str(settings), hint=hint) from None


def waiting(mark: str) -> list[Job]:
    """The run's jobs; none where Slurm does not say."""
    try:
        return slurm_state.jobs(job_name(mark))
    except NoAnswer:
        return []


def end_jobs(mark: str) -> None:
    """End the run's jobs, waiting or running; returns when none is left in the queue. BadInput where one stays."""
    deadline = time.monotonic() + END_SECONDS
    try:
        while found := slurm_state.jobs(job_name(mark)):
            for job in found:
                if job.state != "COMPLETING":
                    slurm_state.cancel(job.id)
            if time.monotonic() > deadline:
                raise NoAnswer(f"job {found[0].id} is {found[0].state} {END_SECONDS} s after it was cancelled")
            time.sleep(0.2)
    except NoAnswer as answer:
        hint = f"when Slurm answers: scancel --name={job_name(mark)}"
        raise BadInput(f"a job of this run may be left in the queue: {answer}", hint=hint) from None


def granted(lines: Iterable[str]) -> str | None:
    """The allocation that ``salloc`` says it has; None before."""
    return next((found.group(1) for line in lines if (found := _GRANTED.match(line))), None)


def why_not_granted(lines: Iterable[str]) -> str:
    """What ``salloc`` says is wrong with what was asked; empty where nothing is."""
    return "; ".join(found.group(1) for line in lines if (found := _ERROR.match(line)))


def why_ended_early(lines: Iterable[str]) -> str:
    """What ``salloc`` says became of an allocation that ended before its command, and the nodes that are down; empty
    where it says nothing."""
    said = "; ".join(found.group(1) for line in lines if (found := _LOST.match(line)))
    return "; ".join(part for part in (said, nodes_down()) if part) if said else ""


def nodes_down() -> str:
    """The nodes that run no jobs, each with Slurm's reason; empty where all do, and where Slurm does not say."""
    try:
        return "; ".join(sorted({str(node) for node in slurm_state.nodes() if not node.up}))
    except NoAnswer:
        return ""
