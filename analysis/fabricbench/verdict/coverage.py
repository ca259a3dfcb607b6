# SPDX-License-Identifier: Apache-2.0
"""Which nodes and node pairs of each fabric the attested launches of a campaign covered."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
import numpy.typing as npt

from fabricbench.launch.facts import case_parts
from fabricbench.launch.record import Record, RemovedNode
from fabricbench.site.hostlist import expand
from fabricbench.verdict.nodes import BENCHMARKS, natural

MOST_LISTED = 20
"""The most nodes, or node pairs, that are listed by name."""


@dataclass(frozen=True, slots=True)
class Coverage:
    """The nodes of one fabric, and those that no attested launch between nodes used.

    ``nodes``: the number of nodes that launches used or could have been placed on, without those that were taken out.
    ``missing_nodes``: the nodes without any launch. ``missing_pairs``: the number of node pairs that were never
    measured as a pair and never in one launch together, with the first of them in ``listed_pairs``.
    """

    system: str
    fabric: str
    nodes: int
    missing_nodes: tuple[str, ...]
    missing_pairs: int
    listed_pairs: tuple[tuple[str, str], ...]

    @property
    def pairs(self) -> int:
        """The number of node pairs of the fabric."""
        return self.nodes * (self.nodes - 1) // 2

    @property
    def lines(self) -> tuple[str, ...]:
        """The coverage as text, a line each for nodes and for node pairs."""
        of_nodes = f"{self.fabric}: launches covered {self.nodes - len(self.missing_nodes)} of {self.nodes} nodes"
        of_pairs = f"{self.fabric}: launches covered {self.pairs - self.missing_pairs} of {self.pairs} node pairs"
        names = _listed(self.missing_nodes, len(self.missing_nodes))
        pairs = _listed([f"{one}-{other}" for one, other in self.listed_pairs], self.missing_pairs)
        return of_nodes + names, of_pairs + pairs


def _listed(names: Sequence[str], count: int) -> str:
    more = f" and {count - MOST_LISTED} more" if count > MOST_LISTED else ""
    return f"; never {', '.join(names[:MOST_LISTED])}{more}" if count else ""


def coverage(records: Iterable[Record], removed: Sequence[RemovedNode] = ()) -> tuple[Coverage, ...]:
    """Returns the coverage of each fabric with several nodes, in order.

    Launches of state ``ok`` count, apart from wire-ups. A launch of the benchmarks of node pairs covers the pairs that
    it measured, any other launch all pairs of its nodes.
    """
    by_fabric: dict[tuple[str, str], list[Record]] = defaultdict(list)
    for record in records:
        if record.launch is not None and record.state == "ok" and record.launch.mode != "wireup":
            by_fabric[record.launch.system, record.launch.fabric].append(record)
    out = {one.node for one in removed}
    results = (_of_fabric(*place, by_fabric[place], out) for place in sorted(by_fabric))
    return tuple(one for one in results if one.nodes > 1)


def _of_fabric(system: str, fabric: str, records: Sequence[Record], removed: set[str]) -> Coverage:
    pools = {record.launch.node_pool for record in records if record.launch}
    pool = {name for text in pools for name in expand(text)} - removed
    used = {_node(host, pool) for record in records for host in record.hosts} - removed
    names = sorted(pool | used, key=natural)
    number = {name: at for at, name in enumerate(names)}
    together: npt.NDArray[np.bool_] = np.eye(len(names), dtype=bool)
    seen: set[tuple[str, ...]] = set()
    for record in records:
        assert record.launch is not None
        if record.launch.benchmark in BENCHMARKS:
            for one, other in _measured_pairs(record):
                first, second = number.get(_node(one, pool)), number.get(_node(other, pool))
                if first is not None and second is not None:
                    together[first, second] = together[second, first] = True
        elif record.hosts not in seen:
            seen.add(record.hosts)
            places = [number[node] for host in record.hosts if (node := _node(host, pool)) in number]
            together[np.ix_(places, places)] = True
    rows, columns = np.nonzero(np.triu(~together, k=1))
    return Coverage(
        system=system,
        fabric=fabric,
        nodes=len(names),
        missing_nodes=tuple(name for name in names if name not in used),
        missing_pairs=len(rows),
        listed_pairs=tuple(
            (names[one], names[other]) for one, other in islice(zip(rows, columns, strict=True), MOST_LISTED)
        ),
    )


def _measured_pairs(record: Record) -> set[tuple[str, str]]:
    cases = (case_parts(row.case) for row in record.rows)
    return {(case["from"], case["to"]) for case in cases if {"from", "to"} <= case.keys()}


def _node(host: str, pool: set[str]) -> str:
    """Returns the scheduler's name of a host, which may be its name without the domain."""
    short = host.partition(".")[0]
    return short if host not in pool and short in pool else host
