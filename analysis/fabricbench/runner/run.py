# SPDX-License-Identifier: Apache-2.0
"""A campaign: blocks in recorded random order, resumed where it was killed, never two at once."""

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
from fabricbench.campaign.write import came_back, create, write_planned
from fabricbench.doctor.site import demand_sound
from fabricbench.errors import BadInput
from fabricbench.files.reading import open_log
from fabricbench.files.writing import write_json
from fabricbench.launch.lost import why_lost
from fabricbench.launch.record import CampaignFacts
from fabricbench.launch.session import Session, next_session
from fabricbench.launch.unmeasured import Case
from fabricbench.processes.leftovers import end_marked
from fabricbench.runner import reframe
from fabricbench.runner.plan import (
    COMPLETE,
    Plan,
    block_cases,
    by_nodes,
    campaign_facts,
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
    """Bring the campaign at ``plan.path`` to its end, from nothing or from wherever it was left."""
    ready = demand_lanes(plan)
    demand_sound(plan.system, plan.lanes)
    if any(by_nodes(plan)):
        demand_slurm(settings_file(plan.system))
    no_blanks(plan.path.resolve())
    cases = block_cases(plan)
    with _held(plan.path) as lock:
        _end_leftovers(plan, lock)
        facts = campaign_facts(plan) or _create(plan)
        if is_complete(plan.path):
            return
        write_planned(plan.path, (Case(case.name, case.fabric, case.stack) for case in cases))
        mark = uuid.uuid4().hex
        _write_mark(lock, mark)
        with _given_back(plan, mark):
            try:
                _blocks(plan, facts, cases, ready, mark)
            except OSError as error:
                raise BadInput(
                    f"cannot be written: {error.strerror}",
                    where=str(error.filename or plan.path),
                    hint=f"what is finished is kept: fabricbench run {plan.path} goes on from there",
                ) from None


def _blocks(plan: Plan, facts: CampaignFacts, cases: list[reframe.Case], ready: set[str], mark: str) -> None:
    last = max(facts.looks)
    with CampaignProgress(plan.path / "run.log", last, len(cases)) as progress:
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
    cases: list[reframe.Case],
    block: int,
    mark: str,
    progress: CampaignProgress,
) -> float:
    """Run what is missing of a block, one kind of nodes after the other; the seconds that it took."""
    return sum(
        _on_nodes(plan, facts, [case for case in cases if case.lane in named], request, block, mark, progress)
        for request, named in by_nodes(plan).items()
    )


def _on_nodes(
    plan: Plan,
    facts: CampaignFacts,
    cases: list[reframe.Case],
    request: Request | None,
    block: int,
    mark: str,
    progress: CampaignProgress,
) -> float:
    """Sessions until every case came back; a further one only where an allocation ended before its block, and once for
    the launches that were lost."""
    seconds = 0.0
    missing = missing_cases(plan, cases, block)
    while missing:
        number = next_session(plan.path, block)
        start = Start(
            session=Session(
                campaign=str(plan.path.resolve()),
                block=block,
                session=number,
                seed=facts.seed,
                lanes=tuple(sorted({case.lane for case in cases})) if request or plan.lanes else (),
            ),
            system=plan.system,
            arguments=(*selection(plan), "-r", "--exec-order=random", "--exec-policy=serial"),
            mark=mark,
            request=request,
        )
        ended = run_session(start, progress)
        seconds += ended.seconds
        before, missing = missing, missing_cases(plan, cases, block)
        lost = ended.lost or _lost_with_nodes(start.stage)
        losses = first_losses(plan.path, block, number)
        for name, why in losses.items():
            progress.say(f"lost, will be repeated: {name}: {why}")
        if missing and (losses or (lost and len(missing) < len(before))):
            nodes = f"nodes were lost ({lost}); " if lost else ""
            progress.say(f"{nodes}{len(missing)} launches of this block remain to be run")
        elif missing or ended.outcome.problem:
            raise BadInput(
                (f"nodes were lost ({lost}), " if lost else "") + _why_missing(plan, ended.outcome, missing),
                where=str(plan.path),
                hint=f"what is finished is kept: fabricbench run {plan.path} goes on from there",
            )
    return seconds


def _lost_with_nodes(stage: Path) -> str:
    """What Slurm said to the first launch of a session that was lost with its nodes; empty where none was."""
    directories = (file.parent for file in sorted(stage.glob("*/*/*/*/end")) if not came_back(file.parent))
    return next((why for directory in directories if (why := why_lost(directory))), "")


def _why_missing(plan: Plan, outcome: reframe.Outcome, missing: list[reframe.Case]) -> str:
    _expect(plan, {case.lane for case in missing} & {lane.name for lane in lanes(plan.system)})
    free = shutil.disk_usage(plan.path).free
    if free < LEAST_FREE_BYTES:
        return f"the disk is full ({free // 2**20} MiB free), {len(missing)} launches of this block did not come back"
    if outcome.problem:
        return f"ReFrame: {outcome.problem}"
    reasons = [line.strip() for line in outcome.lines if "Reason:" in line or "ERROR" in line]
    named = ", ".join(f"{case.lane} {case.name}" for case in missing[:3])
    why = f": {reasons[0]}" if reasons else ""
    return f"{len(missing)} launches of this block did not come back ({named}){why}"


def _expect(plan: Plan, ready: set[str]) -> None:
    """A stack that vanishes half way ends the campaign with its name, not with a row of failures."""
    gone = sorted(ready - {lane.name for lane in ready_lanes(plan)})
    if gone:
        raise BadInput(
            f"{', '.join(gone)} vanished: it was there when this run began",
            where=str(plan.path),
            hint="nothing is lost: set it up again (fabricbench setup) and repeat the command",
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
    )


@contextmanager
def _held(path: Path) -> Iterator[IO[str]]:
    """The campaign's own lock: a second run on it is refused."""
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
    """End what is left of a run that was killed; no one else can be running, the lock is ours."""
    lock.seek(0)
    earlier = lock.read(_LONGEST_MARK).strip()
    if _MARK.fullmatch(earlier):
        _give_back(plan, earlier)


@contextmanager
def _given_back(plan: Plan, mark: str) -> Iterator[None]:
    """What runs within leaves nothing; where something may be left, that is said after what went wrong before."""
    try:
        yield
    except BaseException as error:
        try:
            _give_back(plan, mark)
        except BadInput as left:
            raise (BadInput(f"{error}; {left}") if isinstance(error, BadInput) else left) from None
        raise
    _give_back(plan, mark)


def _give_back(plan: Plan, mark: str) -> None:
    """Nothing of a run stays: its processes, which ask for jobs, then its jobs."""
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
