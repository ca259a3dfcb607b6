# SPDX-License-Identifier: Apache-2.0
"""Lets ReFrame compose every launch of a block without starting one. Each check writes the facts of its launch."""

import tempfile
from pathlib import Path

from fabricbench.errors import BadInput
from fabricbench.launch.case import Case
from fabricbench.launch.facts import Launch, SkippedLaunch
from fabricbench.launch.session import FORECAST, Session
from fabricbench.runner import reframe
from fabricbench.runner.plan import Plan, by_nodes, demand_set, selection
from fabricbench.runner.session import Start
from fabricbench.site.settings import no_blanks


def dry_run(plan: Plan) -> tuple[list[tuple[Case, Launch]], list[SkippedLaunch]]:
    """Returns the launches of a block with their cases, and its skips."""
    with tempfile.TemporaryDirectory(prefix="fabricbench-") as folder:
        directories = _directories(plan, Path(folder))
        launches = [
            (_case(at), Launch.model_validate_json((at / "launch.json").read_bytes()))
            for at in directories
            if (at / "launch.json").exists()
        ]
        skips = [
            SkippedLaunch.model_validate_json((at / "skipped.json").read_bytes())
            for at in directories
            if (at / "skipped.json").exists()
        ]
    return launches, skips


def _directories(plan: Plan, folder: Path) -> list[Path]:
    """The directories of a block's launches and skips, which ReFrame writes below ``folder``."""
    no_blanks(folder)
    arguments = (*selection(plan), "--dry-run", "--exec-policy=serial")
    start = Start(
        session=Session(str(folder.resolve()), 0, 0, plan.seed, plan.lanes, plan.unused_nodes),
        system=plan.system,
        arguments=arguments,
        mark="",
        request=next((request for request in by_nodes(plan) if request), None),
        injected=plan.injected,
        scales=plan.scales,
        switches=plan.switches,
    )
    environment = {
        **start.environment(),
        FORECAST: "1",
        "TMPDIR": str(folder),
    }
    outcome = reframe.run(arguments, environment)
    if outcome.status:
        reasons = [line.strip() for line in outcome.lines if "Reason:" in line or "ERROR" in line]
        raise BadInput(f"ReFrame: {outcome.problem or ' '.join(reasons[:1]) or 'the dry run failed'}")
    directories = sorted(path for path in start.stage.glob("*/*/*/*") if path.is_dir())
    demand_set(plan, map(_case, directories), outcome.lines)
    return directories


def _case(directory: Path) -> Case:
    fabric, stack, name = directory.parts[-3:]
    return Case(name, fabric, stack)
