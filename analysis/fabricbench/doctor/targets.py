# SPDX-License-Identifier: Apache-2.0
"""Checks that the nodes' processors have the instructions that the NAS kernels of their stacks are built for."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Literal

from fabricbench.site.fabric import Fabric
from fabricbench.site.lane import Lane
from fabricbench.site.targets import Target, flags_of_nodes, in_words, set_up_for

TargetProblem = tuple[Literal["warning", "not checked"], str, str]
"""State, what and hint of a problem."""


def target_problems(fabric: Fabric, lanes: Iterable[Lane]) -> Iterator[TargetProblem]:
    """Yields a problem for each target that the nodes' processors cannot run, or that cannot be checked.

    ``lanes``: those of the site.
    """
    stacks: dict[Target, list[str]] = defaultdict(list)
    for lane in lanes:
        if lane.installed is None or lane.fabric != fabric:
            continue
        nasa = lane.installed.sources.get("npb")
        for target in {lane.installed.target, nasa.target if nasa else None}:
            if target is not None and target.instructions:
                stacks[target].append(lane.stack.name)
    flags = flags_of_nodes(fabric)
    for target, names in stacks.items():
        what = f"fabric {fabric.name}: the NAS kernels of {', '.join(names)} are built for {target.text}"
        if flags is None:
            yield "not checked", f"{what}; the processors of the nodes are unknown", "declare them: Nodes(processor=…)"
        elif lacking := target.lacking(flags):
            what += f", and the processors of the nodes lack {in_words(lacking)}, so that the kernels are skipped"
            yield "warning", what, f"run: {set_up_for(flags)}"
