# SPDX-License-Identifier: Apache-2.0
"""Runs a campaign block by block in random order, and continues one that was interrupted."""

import fcntl
import os
import re
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from fabricbench.campaign.attempts import first_losses
from fabricbench.campaign.removed import remove_nodes
from fabricbench.campaign.write import create, has_completed, write_planned
from fabricbench.doctor.site import demand_sound
from fabricbench.errors import BadInput
from fabricbench.files.reading import open_log
from fabricbench.files.writing import write_json
from fabricbench.launch.case import Case
from fabricbench.launch.lost import why_lost
from fabricbench.launch.record import CampaignFacts
from fabricbench.launch.session import Session, next_session
from fabricbench.processes.leftovers import end_marked
from fabricbench.runner import reframe
from fabricbench.runner.plan import (
    COMPLETE,
    Plan,
    block_cases,
    by_nodes,
    campaign_facts,
    demand_known_nodes,
    demand_lanes,
    finished_cases,
    is_complete,
    missing_cases,
    ready_lanes,
    selection,
)
from fabricbench.runner.progress import CampaignProgress
from fabricbench.runner.session import Start, run_session
from fabricbench.site.settings import lanes, no_blanks, settings_file
from fabricbench.slurm.allocation import Request, demand_slurm, end_jobs

LEAST_FREE_BYTES = 32 * 2**20
_LONGEST_MARK = 64
_MARK = re.compile(r"[0-9a-f]{32}")


def run(plan: Plan) -> None:
    """Runs the campaign at ``plan.path`` to its end. Launches that an earlier run finished are not repeated."""
    ready = demand_lanes(plan)
    demand_sound(plan.system, plan.lanes, plan.unused_nodes)
    demand_known_nodes(plan)
    if any(by_nodes(plan)):
        demand_slurm(settings_file(plan.system))
    no_blanks(plan.path.resolve())
    cases = block_cases(plan)
    with _campaign_lock(plan.path) as lock:
        _end_leftovers(plan, lock)
        facts = campaign_facts(plan) or _create(plan)
        if is_complete(plan.path):
            return
        write_planned(plan.path, cases)
        _take_out(plan, facts, cases)
        mark = uuid.uuid4().hex
        _write_mark(lock, mark)
        with _releasing(plan, mark):
            try:
                _blocks(plan, facts, cases, ready, mark)
            except OSError as error:
                raise BadInput(
                    f"cannot be written: {error.strerror}",
                    where=str(error.filename or plan.path),
                    hint=f"finished launches are kept; continue with: fabricbench run {plan.path}",
                ) from None


def _blocks(plan: Plan, facts: CampaignFacts, cases: list[Case], ready: set[str], mark: str) -> None:
    last = max(facts.looks)
    with CampaignProgress(plan.path / "run.log", last, len(cases), plan.budget_seconds) as progress:
        finished = sum(len(finished_cases(plan, cases, block)) for block in range(last))
        progress.start_from(finished)
        if finished:
            progress.say(f"resuming: {finished} launches are finished")
        used = 0.0
        for block in range(last):
            _expect(plan, ready)
            used += _block(plan, facts, cases, block, mark, progress)
            if block + 1 in facts.looks[:-1] and plan.decided(plan.path):
                progress.say(f"every requirement is decided after {block + 1} blocks")
                break
            if plan.budget_seconds is not None and used > plan.budget_seconds:
                progress.say(f"the budget is spent after {block + 1} blocks")
                break
        write_json(plan.path / COMPLETE, {"blocks": block + 1})


def _block(
    plan: Plan,
    facts: CampaignFacts,
    cases: list[Case],
    block: int,
    mark: str,
    progress: CampaignProgress,
) -> float:
    """Runs the missing launches of a block, one allocation after the other. Returns the seconds of its sessions."""
    return sum(
        _on_nodes(plan, facts, [case for case in cases if case.lane in names], request, block, mark, progress)
        for request, names in by_nodes(plan).items()
    )


def _on_nodes(
    plan: Plan,
    facts: CampaignFacts,
    cases: list[Case],
    request: Request | None,
    block: int,
    mark: str,
    progress: CampaignProgress,
) -> float:
    """Runs sessions until no case is missing, and returns their seconds. BadInput if a session makes no progress.

    A block has a second session if its allocation ended early, and one that repeats lost launches once.
    """
    seconds = 0.0
    remaining = missing_cases(plan, cases, block)
    while remaining:
        number = next_session(plan.path, block)
        selected = tuple(sorted({case.lane for case in cases})) if request or plan.lanes else ()
        session = Session(str(plan.path.resolve()), block, number, facts.seed, selected, plan.unused_nodes)
        start = _start(plan, session, request, mark)
        result = run_session(start, progress)
        seconds += result.seconds
        before, remaining = remaining, missing_cases(plan, cases, block)
        loss = result.loss or _lost_with_nodes(start.stage)
        losses = first_losses(plan.path, block, number)
        for name, why in losses.items():
            progress.say(f"launch lost, to be repeated: {name}: {why}")
        if remaining and (losses or (loss and len(remaining) < len(before))):
            nodes = f"nodes were lost ({loss}); " if loss else ""
            progress.say(f"{nodes}{len(remaining)} launches of this block remain")
        elif remaining or result.outcome.problem:
            raise BadInput(
                (f"nodes were lost ({loss}), " if loss else "") + _why_missing(plan, result.outcome, remaining),
                where=str(plan.path),
                hint=f"finished launches are kept; continue with: fabricbench run {plan.path}",
            )
    return seconds


def _start(plan: Plan, session: Session, request: Request | None, mark: str) -> Start:
    """Returns how ReFrame is started to run the missing launches of a block in random order."""
    return Start(
        session=session,
        system=plan.system,
        arguments=(*selection(plan), "-r", "--exec-order=random", "--exec-policy=serial"),
        mark=mark,
        request=request,
        injected=plan.injected,
        scales=plan.scales,
        switches=plan.switches,
    )


def _lost_with_nodes(stage: Path) -> str:
    """Slurm's message to the first launch of a session that was lost with its nodes; empty if none was."""
    directories = (file.parent for file in sorted(stage.glob("*/*/*/*/end")) if not has_completed(file.parent))
    return next((why for directory in directories if (why := why_lost(directory))), "")


def _why_missing(plan: Plan, outcome: reframe.Outcome, remaining: list[Case]) -> str:
    _expect(plan, {case.lane for case in remaining} & {lane.name for lane in lanes(plan.system)})
    free = shutil.disk_usage(plan.path).free
    if free < LEAST_FREE_BYTES:
        return f"the disk is full ({free // 2**20} MiB free), {len(remaining)} launches of this block did not complete"
    if outcome.problem:
        return f"ReFrame: {outcome.problem}"
    reasons = [line.strip() for line in outcome.lines if "Reason:" in line or "ERROR" in line]
    first = ", ".join(f"{case.lane} {case.check}" for case in remaining[:3])
    why = f": {reasons[0]}" if reasons else ""
    return f"{len(remaining)} launches of this block did not complete ({first}){why}"


def _expect(plan: Plan, ready: set[str]) -> None:
    """Raises BadInput if a lane that was ready when the run began is not any more; its launches would all fail."""
    vanished_lanes = sorted(ready - {lane.name for lane in ready_lanes(plan)})
    if vanished_lanes:
        raise BadInput(
            f"no longer ready since this run began: {', '.join(vanished_lanes)}",
            where=str(plan.path),
            hint="finished launches are kept: set the stack up again (fabricbench setup) and repeat the command",
        )


def _create(plan: Plan) -> CampaignFacts:
    return create(
        plan.path,
        site=settings_file(plan.system).parent,
        tier=plan.tier,
        seed=plan.seed,
        lanes=plan.lanes,
        checks=plan.checks,
        variables=plan.variables,
        injected=plan.injected,
        scales=plan.scales,
    )


def _take_out(plan: Plan, facts: CampaignFacts, cases: list[Case]) -> None:
    """Records the nodes that the plan takes out of the campaign from the first incomplete block on."""
    if plan.without:
        block = next((block for block in range(max(facts.looks)) if missing_cases(plan, cases, block)), 0)
        remove_nodes(plan.path, plan.without, plan.because, block)


@contextmanager
def _campaign_lock(path: Path) -> Iterator[IO[str]]:
    """Holds the campaign's lock. Raises BadInput if another run holds it."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        lock = open_log(path / "lock", "a+")
    except OSError as error:
        raise BadInput(f"cannot be written: {error.strerror}", where=str(error.filename or path)) from None
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise BadInput(
                "another run is working on this campaign",
                where=str(path),
                hint="wait for it, or end it first",
            ) from None
        yield lock


def _end_leftovers(plan: Plan, lock: IO[str]) -> None:
    """Ends the processes and jobs of an earlier run that was killed. The lock ensures that no other run is active."""
    lock.seek(0)
    earlier = lock.read(_LONGEST_MARK).strip()
    if _MARK.fullmatch(earlier):
        _release(plan, earlier)


@contextmanager
def _releasing(plan: Plan, mark: str) -> Iterator[None]:
    """Releases what the run started, even if the body fails. Appends an error of the release to that of the body."""
    try:
        yield
    except BaseException as error:
        try:
            _release(plan, mark)
        except BadInput as failure:
            raise (BadInput(f"{error}; {failure}") if isinstance(error, BadInput) else failure) from None
        raise
    _release(plan, mark)


def _release(plan: Plan, mark: str) -> None:
    """Ends the processes of a run, which may submit jobs, and then its jobs."""
    try:
        end_marked(mark)
    except TimeoutError as error:
        raise BadInput(str(error), where=str(plan.path)) from None
    if any(by_nodes(plan)):
        end_jobs(mark)


def _write_mark(lock: IO[str], mark: str) -> None:
    lock.seek(0)
    lock.truncate()
    lock.write(mark + "\n")
    lock.flush()
    os.fsync(lock.fileno())
