# SPDX-License-Identifier: Apache-2.0
"""Compares the fabrics' needs with Slurm's state: partitions, nodes that are up, PMI, and a trial submission."""

import argparse
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal, TypeVar

from fabricbench.errors import nearest
from fabricbench.slurm.allocation import Request
from fabricbench.slurm.state import (
    NoAnswer,
    Node,
    Partition,
    host_names,
    nodes,
    offered_pmi,
    partitions,
    why_not_taken,
)

SlurmProblem = tuple[Literal["broken", "warning", "not checked"], str, str]
"""A problem's severity, its text, and the hint."""

Answer = TypeVar("Answer")
SHOWN = 5


@dataclass(frozen=True, slots=True)
class Demand:
    """The needs of a fabric that Slurm must fulfil.

    ``request`` describes its nodes, None if it does not use Slurm; ``pmi`` is the argument of ``srun --mpi`` by
    stack, empty for Slurm's default.
    """

    fabric: str
    request: Request | None
    pmi: Mapping[str, str]


def slurm_problems(fabrics: Sequence[Demand]) -> Iterator[SlurmProblem]:
    """Yields the needs of these fabrics that Slurm cannot fulfil; state "not checked" if Slurm does not answer."""
    with_pmi = [demand for demand in fabrics if demand.pmi]
    if with_pmi:
        offered, silent = _answer(offered_pmi)
        if offered is None:
            yield "not checked", f"the PMI of {_fabric_names(demand.fabric for demand in with_pmi)}: {silent}", ""
        for demand in with_pmi if offered is not None else ():
            yield from _pmi(demand, offered or set())
    by_slurm = [(demand.fabric, demand.request) for demand in fabrics if demand.request]
    if not by_slurm:
        return
    present, silent = _answer(lambda: (partitions(), nodes()))
    if present is None:
        yield "not checked", f"partitions and nodes of {_fabric_names(name for name, _ in by_slurm)}: {silent}", ""
        return
    refusals: dict[Request, tuple[str | None, str]] = {}
    for fabric, request in by_slurm:
        problems = list(_places(fabric, request, *present))
        yield from problems
        if any(state == "broken" for state, _, _ in problems):
            continue
        if request not in refusals:
            refusals[request] = _answer(partial(why_not_taken, request.demands))
        refusal, silent = refusals[request]
        if refusal:
            yield "broken", f"fabric {fabric}: Slurm would refuse its jobs: {refusal}", ""
        elif refusal is None:
            yield "not checked", f"whether Slurm accepts the jobs of fabric {fabric}: {silent}", ""


def _pmi(demand: Demand, offered: set[str]) -> Iterator[SlurmProblem]:
    for stack, pmi in demand.pmi.items():
        if pmi and pmi not in offered:
            what = f"fabric {demand.fabric}: srun does not offer {pmi}, the PMI of {stack}"
            yield (
                "broken",
                f"{what}; expected {nearest(pmi, offered)}",
                f"pmi={{'{stack}': …}} of the fabric selects it",
            )
        elif not pmi:
            what = f"fabric {demand.fabric}: {stack} names no PMI, so Slurm's MpiDefault applies"
            yield "warning", what, f"pmi={{'{stack}': …}} of the fabric selects it"


def _places(
    fabric: str, request: Request, present: Mapping[str, Partition], all_nodes: Sequence[Node]
) -> Iterator[SlurmProblem]:
    """The problems of a request's partitions: missing, closed, or with too few nodes that are up."""
    try:
        names = request.partitions(present)
        node_names, within = host_names(request.places.nodelist), request.within(present, all_nodes)
    except (ValueError, argparse.ArgumentError) as error:
        yield "broken", f"fabric {fabric}: access: {error}", ""
        return
    except NoAnswer as answer:
        yield "broken", f"fabric {fabric}: a node list that Slurm cannot read: {answer}", ""
        return
    if not names:
        yield "broken", f"fabric {fabric}: no partition, and Slurm has no default one", _name_one(present)
    for name in names:
        if name not in present:
            yield "broken", f"fabric {fabric}: no partition '{name}'; expected {nearest(name, present)}", ""
        elif present[name].availability != "up":
            what = f"fabric {fabric}: the partition {name} is {present[name].availability}"
            yield "broken", what, "it must be up for jobs to start: scontrol show partition"
    if any(name not in present for name in names):
        return
    yield from _nodes(fabric, request.nodes, within, node_names)


def _nodes(fabric: str, count: int, within: Mapping[str, Node], names: Sequence[str]) -> Iterator[SlurmProblem]:
    for name in names:
        if name not in within:
            what = f"fabric {fabric}: no node '{name}' in its partition; expected {nearest(name, within)}"
            yield "broken", what, ""
    down = [node for node in within.values() if not node.up]
    selection = [node for node in down if node.name in names]
    if selection:
        yield "broken", f"fabric {fabric}: its node list is down: {_some(selection)}", _wake(selection)
    elif len(within) - len(down) < count:
        up = f"{len(within) - len(down)} of {len(within)} nodes up, {count} requested"
        yield "broken", f"fabric {fabric}: {up}" + (f": {_some(down)}" if down else ""), _wake(down)
    elif down:
        yield "warning", f"fabric {fabric}: {len(down)} of {len(within)} nodes are down: {_some(down)}", ""


def _answer(query: Callable[[], Answer]) -> tuple[Answer | None, str]:
    """The result of a query of Slurm, or why there is none."""
    try:
        return query(), ""
    except NoAnswer as answer:
        return None, str(answer)


def _fabric_names(fabrics: Iterable[str]) -> str:
    return "fabric " + ", ".join(fabrics)


def _name_one(present: Mapping[str, Partition]) -> str:
    return f"name one in access: --partition={next(iter(present), '…')}"


def _some(down: Sequence[Node]) -> str:
    more = f", and {len(down) - SHOWN} more" if len(down) > SHOWN else ""
    return ", ".join(map(str, down[:SHOWN])) + more


def _wake(down: Sequence[Node]) -> str:
    return f"scontrol show node {down[0].name}" if down else ""
