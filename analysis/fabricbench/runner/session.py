# SPDX-License-Identifier: Apache-2.0
"""Runs one session of ReFrame for the missing launches of a block, on this machine or in an allocation of Slurm."""

import threading
import time
from dataclasses import dataclass
from os.path import lexists
from pathlib import Path

from fabricbench.errors import BadInput
from fabricbench.files.reading import is_regular, open_log
from fabricbench.launch.session import ALLOCATION, SWITCHES, Session
from fabricbench.processes.leftovers import MARK
from fabricbench.runner import reframe
from fabricbench.runner.progress import CampaignProgress
from fabricbench.site.settings import settings_file
from fabricbench.slurm import allocation

POLL_SECONDS = 0.2
POLLS_PER_SECOND = "40"
"""How often per second ReFrame polls for the end of a launch. With its default of 10 each launch wastes 0.05 s."""
QUERY_SECONDS = 2.0
"""The time between two queries of Slurm's queue."""
PATIENCE_SECONDS = 10.0
"""The longest time that a job may be pending for a reason that waiting does not remove."""


@dataclass(frozen=True, slots=True)
class Start:
    """The start of ReFrame for a session.

    ``arguments`` are ReFrame's; ``request`` describes the allocation, None if the session needs none. ``injected``: the
    levels of injected delays. ``scales``: the scales that replace those of the tier. ``switches``: the switches with
    their nodes, if a check requests a distance and they are known.
    """

    session: Session
    system: str
    arguments: tuple[str, ...]
    mark: str
    request: allocation.Request | None
    injected: tuple[str, ...] = ()
    scales: tuple[str, ...] = ()
    switches: tuple[str, ...] = ()

    @property
    def stage(self) -> Path:
        """The directory of the session's launches, by fabric, stack and check."""
        return Path(self.session.stage)

    def environment(self) -> dict[str, str]:
        """The environment variables that describe the block for ReFrame."""
        return {
            **reframe.settings_environment([settings_file(self.system)], self.system, self.injected, self.scales),
            **self.session.environment,
            MARK: self.mark,
            "RFM_POLL_RATE_MAX": POLLS_PER_SECOND,
            **({ALLOCATION: "1"} if self.request else {}),
            **({SWITCHES: " ".join(self.switches)} if self.switches else {}),
            "RFM_COLORIZE": "n",
        }


@dataclass(frozen=True, slots=True)
class SessionEnd:
    """The end of a session. ``seconds``: the time with its nodes; ``loss``: why Slurm took them away, or empty."""

    outcome: reframe.Outcome
    seconds: float
    loss: str


def run_session(start: Start, progress: CampaignProgress) -> SessionEnd:
    """Runs ReFrame to its end. Raises BadInput if it does not start or Slurm provides no nodes."""
    session = start.session
    log = Path(session.campaign) / "reframe" / f"session-{session.block:03d}.{session.session:02d}.log"
    start.stage.mkdir(parents=True, exist_ok=True)
    log.parent.mkdir(exist_ok=True)
    if lexists(report := log.with_suffix(".json")) and not is_regular(report):  # ReFrame would wait for its reader
        raise BadInput("not a regular file", where=str(report), hint="remove it")
    within = start.request.command(start.mark) if start.request else ()
    result: list[reframe.Outcome] = []
    failed: list[OSError] = []
    lines: list[str] = []
    with open_log(log, "w") as stream:

        def take(line: str) -> None:
            lines.append(line)
            if not stream.closed:  # a session that gives up does not wait for ReFrame's last lines
                stream.write(line)

        def fill() -> None:
            try:
                result.append(reframe.run(start.arguments, start.environment(), take, within))
            except OSError as error:
                failed.append(error)

        worker = threading.Thread(target=fill, daemon=True)
        worker.start()
        waited = _wait_for_nodes(start, worker, lines, progress) if start.request else 0.0
        began = time.monotonic() - min(waited, POLL_SECONDS)
        while worker.is_alive():
            worker.join(POLL_SECONDS)
            progress.update(start.stage / start.system, session.block)
    seconds = time.monotonic() - began
    progress.update(start.stage / start.system, session.block)
    if not result:
        raise _not_run(failed, lines, log)
    if start.request and allocation.granted(lines) is None:
        raise _not_granted(start, start.request, lines, result[0].status)
    return SessionEnd(result[0], seconds, allocation.why_ended_early(lines) if start.request else "")


def _not_granted(start: Start, request: allocation.Request, lines: list[str], status: int) -> BadInput:
    """The reason why Slurm granted no allocation. ``status``: the exit status of ``salloc``."""
    refused = allocation.why_not_granted(lines) or f"salloc ended with {status}"
    return BadInput(
        f"no allocation: {refused}",
        where=f"access {' '.join(request.access)} of {settings_file(start.system)}",
        expected=f"{request.nodes} nodes for {request.minutes} minutes",
        hint=f"fabricbench doctor --site --system {start.system}",
    )


def _not_run(failed: list[OSError], lines: list[str], log: Path) -> BadInput:
    """The error of a ReFrame that did not run. An OSError without a file name is from writing the log."""
    for error in failed:
        if error.filename is None:
            return BadInput(f"cannot be written: {error.strerror}", where=str(log), hint="make room and run again")
        return BadInput(f"ReFrame could not be started: {error.strerror}", where=str(error.filename))
    return BadInput("ReFrame could not be started" + (f": {lines[-1].strip()}" if lines else ""), where=str(log))


def _wait_for_nodes(start: Start, worker: threading.Thread, lines: list[str], progress: CampaignProgress) -> float:
    """Waits until Slurm grants or refuses the nodes; returns the seconds. Reports the job's reason when it changes."""
    began = last_query = time.monotonic()
    reported, hopeless_since = "", None
    while worker.is_alive() and allocation.granted(lines) is None:
        worker.join(POLL_SECONDS)
        now = time.monotonic()
        if now - last_query < QUERY_SECONDS:
            continue
        last_query = now
        for job in allocation.waiting(start.mark):
            if job.state == "PENDING" and job.reason != reported:
                reported = job.reason
                progress.say(f"waiting for nodes: job {job.id}: {reported}")
            hopeless = start.request is not None and start.request.hopeless(job)
            hopeless_since = (hopeless_since or now) if hopeless else None
        if hopeless_since is not None and now - hopeless_since > PATIENCE_SECONDS:
            down = allocation.nodes_down()
            raise BadInput(
                f"no nodes: {reported}{f' ({down})' if down else ''}",
                where=str(settings_file(start.system)),
                hint=f"when they are back, continue with: fabricbench run {start.session.campaign}",
            )
    return time.monotonic() - began
