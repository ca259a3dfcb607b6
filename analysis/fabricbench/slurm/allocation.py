# SPDX-License-Identifier: Apache-2.0
"""Allocates the nodes of a block: one allocation of Slurm, in which ReFrame starts the block's launches.

``salloc`` holds the allocation while ReFrame runs, and releases it when either ends. The job's name contains the mark
of the run, so that a later run can cancel the job of one that was killed.
"""

import argparse
import re
import shlex
import shutil
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from fabricbench.errors import BadInput
from fabricbench.site.fabric import Fabric
from fabricbench.slurm import state as slurm_state
from fabricbench.slurm.state import START_SECONDS, Job, NoAnswer, Node, Partition, host_names

END_SECONDS = 30
_NEVER = re.compile(r"PartitionNodeLimit|PartitionTimeLimit|PartitionInactive|PartitionDown|Invalid|BadConstraints")
"""Slurm's reasons for pending jobs that waiting does not remove."""
_NODES = re.compile(r"DOWN|DRAINED|ReqNodeNotAvail")
"""Slurm's reasons for pending jobs that waiting removes if enough nodes are up, because other jobs may use them."""
_GRANTED = re.compile(r"^salloc: Granted job allocation (\d+)")
_LOST = re.compile(r"^salloc: (?:error: )?(.*(?:time limit|Node failure|revoked).*)")
_ERROR = re.compile(r"^salloc: error: (.*)")


@dataclass(frozen=True, slots=True)
class Request:
    """The nodes that a block needs, by the access options of its fabrics, for at most ``minutes``.

    ``cores`` is the number of ranks that must fit on each node; None if the nodes are requested exclusively.
    ``without``: nodes that were taken out of the campaign.
    """

    access: tuple[str, ...]
    nodes: int
    minutes: int
    exclusive: bool
    cores: int | None = None
    without: tuple[str, ...] = ()

    @property
    def options(self) -> list[str]:
        """``access`` as single words. An entry may hold an option and its value."""
        return [word for entry in self.access for word in shlex.split(entry)]

    @property
    def places(self) -> argparse.Namespace:
        """``partition``, ``nodelist`` and ``exclude`` of the options; raises ValueError if they cannot be split."""
        parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
        for short, long in (("-p", "--partition"), ("-w", "--nodelist"), ("-x", "--exclude")):
            parser.add_argument(short, long, default="")
        return parser.parse_known_args(self.options)[0]

    def partitions(self, present: Mapping[str, Partition]) -> list[str]:
        """The partitions that the options name, else Slurm's default."""
        names = self.places.partition
        return names.split(",") if names else [partition.name for partition in present.values() if partition.default]

    def within(self, present: Mapping[str, Partition], nodes: Iterable[Node]) -> dict[str, Node]:
        """The nodes of the request's partitions, up or not, without the excluded ones."""
        names, excluded = self.partitions(present), {*host_names(self.places.exclude), *self.without}
        return {node.name: node for node in nodes if node.partition in names and node.name not in excluded}

    @property
    def demands(self) -> list[str]:
        """The request as options of salloc and sbatch."""
        # Slurm takes the last --exclude.
        excluded = ",".join(filter(None, (self.places.exclude, *self.without))) if self.without else ""
        return [
            *(*self.options, f"--nodes={self.nodes}", *(["--exclusive"] if self.exclusive else [])),
            *([f"--exclude={excluded}"] if excluded else []),
            *([f"--ntasks-per-node={self.cores}"] if self.cores else []),
            f"--time={self.minutes}",
        ]

    def command(self, mark: str) -> list[str]:
        """The prefix of ReFrame's command that allocates the nodes. ReFrame is killed when this prefix ends."""
        return [
            *("salloc", *self.demands, f"--job-name={job_name(mark)}", "--kill-command=TERM"),
            *("setpriv", "--pdeathsig", "KILL"),
        ]

    def tasks(self, number: int, pmi: str, minutes: int = 1) -> list[str]:
        """The command that starts one or two tasks on such nodes for ``minutes``, and fails if no node is free soon."""
        nodes = min(number, self.nodes)
        return [
            *("srun", *self.options, f"--nodes={nodes}", f"--ntasks={number}", f"--immediate={START_SECONDS}"),
            *([f"--mpi={pmi}"] if pmi else []),
            *(f"--time={minutes}", "--kill-on-bad-exit=1", "--input=none", "--job-name=fabricbench-doctor"),
        ]

    def hopeless(self, job: Job) -> bool:
        """Whether the job is pending for a reason that waiting does not remove."""
        if job.state != "PENDING":
            return False
        if _NODES.search(job.reason):
            try:
                within = self.within(slurm_state.partitions(), slurm_state.nodes())
                candidates = [within[name] for name in host_names(self.places.nodelist) if name in within]
            except NoAnswer:
                return False
            return sum(node.up for node in within.values()) < self.nodes or not all(node.up for node in candidates)
        return _NEVER.search(job.reason) is not None


def request_of(fabric: Fabric, without: tuple[str, ...] = ()) -> Request | None:
    """Returns the request of a block on ``fabric``; None if its scheduler is not Slurm.

    ``without``: nodes that were taken out. The request then has as many nodes as its partitions still have, at most
    those of the fabric.
    """
    scheduler, nodes = fabric.scheduler, fabric.nodes
    if not scheduler.is_slurm:
        return None
    cores = None if scheduler.exclusive else nodes.cores
    request = Request(tuple(scheduler.access), nodes.count, scheduler.minutes, scheduler.exclusive, cores, without)
    return replace(request, nodes=_remaining(request)) if without else request


def _remaining(request: Request) -> int:
    try:
        count = len(request.within(slurm_state.partitions(), slurm_state.nodes()))
    except NoAnswer:
        count = request.nodes - len(request.without)
    return max(1, min(request.nodes, count))


def job_name(mark: str) -> str:
    """The name of the jobs of a run."""
    return f"fabricbench-{mark}"


def demand_slurm(settings: Path) -> None:
    """Raises BadInput if this machine cannot request an allocation."""
    try:
        slurm_state.partitions()
        if shutil.which("salloc") is None:
            raise NoAnswer("no salloc on PATH")
    except NoAnswer as answer:
        hint = "run it where jobs are submitted; fabricbench doctor --site checks the rest of the site"
        raise BadInput(f"its fabrics need Slurm: {answer}", where=str(settings), hint=hint) from None


def waiting(mark: str) -> list[Job]:
    """The jobs of a run; none if Slurm does not answer."""
    try:
        return slurm_state.jobs(job_name(mark))
    except NoAnswer:
        return []


def end_jobs(mark: str) -> None:
    """Cancels the jobs of a run and waits until the queue has none. Raises BadInput if one remains."""
    deadline = time.monotonic() + END_SECONDS
    try:
        while jobs := slurm_state.jobs(job_name(mark)):
            for job in jobs:
                if job.state != "COMPLETING":
                    slurm_state.cancel(job.id)
            if time.monotonic() > deadline:
                raise NoAnswer(f"job {jobs[0].id} is {jobs[0].state} {END_SECONDS} s after it was cancelled")
            time.sleep(0.2)
    except NoAnswer as answer:
        hint = f"when Slurm answers: scancel --name={job_name(mark)}"
        raise BadInput(f"a job of this run may still be in the queue: {answer}", hint=hint) from None


def granted(lines: Iterable[str]) -> str | None:
    """The id of the allocation that ``salloc`` was granted; None before it is."""
    return next((match.group(1) for line in lines if (match := _GRANTED.match(line))), None)


def why_not_granted(lines: Iterable[str]) -> str:
    """The errors that ``salloc`` printed about a request; empty if there are none."""
    return "; ".join(match.group(1) for line in lines if (match := _ERROR.match(line)))


def why_ended_early(lines: Iterable[str]) -> str:
    """Why an allocation ended before its command, as ``salloc`` printed it, and the nodes that are down.

    Empty if it printed no reason.
    """
    reason = "; ".join(match.group(1) for line in lines if (match := _LOST.match(line)))
    return "; ".join(part for part in (reason, nodes_down()) if part) if reason else ""


def nodes_down() -> str:
    """The nodes that run no jobs, each with Slurm's reason; empty if all do, or if Slurm does not answer."""
    try:
        return "; ".join(sorted({str(node) for node in slurm_state.nodes() if not node.up}))
    except NoAnswer:
        return ""
