# SPDX-License-Identifier: Apache-2.0
"""The scale of a launch: how many nodes with how many ranks on each, and which nodes."""

import math
import os
from collections.abc import Sequence
from functools import cache

from reframe.core.builtins import run_after, variable
from reframe.core.exceptions import ReframeError

from fabricbench.errors import BadInput
from fabricbench.launch.session import ALLOCATION, FORECAST, SCALES, SWITCHES, session
from fabricbench.site.fabric import Fabric
from fabricbench.site.hostlist import expand
from fabricbench.site.node_choice import RULE, chosen_nodes
from fabricbench.site.scale import COLLECTIVE, Breadth, Scale, ScaleRule, scale_of, scales_of, tier_scales
from fabricbench.site.switches import RULES, nodes_at, objection, switches_of, within
from fabricbench.site.transports import DISTANCES, PLACEMENTS, Distance, Placement

from .lane import LaneBase, fabrics, node_cores, system
from .launchers import Layout

TIERS = ("quick", "standard", "acceptance")
JOB_NODES = "SLURM_JOB_NODELIST"
"""Slurm's variable with the nodes of the allocation."""
DEVICE_TRANSPORTS = ("verbs", "mx", "psm", "cxi")
"""Transports that are attested between nodes only."""
MOST_LIMIT_SECONDS = 1800.0


def _requested() -> tuple[Scale, ...]:
    try:
        return scales_of(os.environ.get(SCALES, "").split(), where=SCALES)
    except BadInput as error:
        raise ReframeError(error) from None


REQUESTED = _requested()
"""The scales that replace those of the tiers: ``fabricbench run --scale``, or ``FABRICBENCH_SCALES``."""


@cache
def _tiers(rule: ScaleRule, breadth: Breadth) -> dict[Scale, dict[str, frozenset[str]]]:
    """Returns the tiers of each scale by fabric, in order of scale."""
    places: dict[Scale, dict[str, frozenset[str]]] = {}
    for fabric in fabrics():
        for tier in TIERS:
            for scale in tier_scales(tier, fabric.nodes.count, node_cores(fabric), rule, breadth):
                of_scale = places.setdefault(scale, {})
                of_scale[fabric.name] = of_scale.get(fabric.name, frozenset()) | {tier}
    return dict(sorted(places.items()))


def scales(rule: ScaleRule, breadth: Breadth = "every", counts: Sequence[int] = ()) -> list[str]:
    """Returns the values of the parameter ``at`` of a check: the requested scales, else those of the tiers.

    ``counts`` are numbers of ranks, spread over as many nodes as possible, that replace the scales of the tiers.
    """
    if REQUESTED:
        return [str(scale) for scale in REQUESTED]
    if counts and breadth == "smallest":
        return [str(max((count for count in counts if count <= rule.quick_ranks), default=counts[0]))]
    if counts:
        return [str(count) for count in counts if count >= rule.least_ranks] or [str(count) for count in counts]
    return [str(scale) for scale in _tiers(rule, breadth)]


@cache
def switches() -> dict[str, tuple[str, ...]]:
    """Returns the nodes of each switch; empty if they are not known."""
    try:
        return switches_of(os.environ.get(SWITCHES, ""), where=SWITCHES)
    except BadInput as error:
        raise ReframeError(error) from None


def own_scale() -> list[str]:
    """Returns the values of ``at`` of a check that has a single scale of its own, unless scales are requested."""
    return [str(scale) for scale in REQUESTED] or [""]


_expanded = cache(expand)
_chosen = cache(chosen_nodes)


def node_pool(fabric: Fabric) -> tuple[str, ...]:
    """Returns the names of the nodes for the launches on ``fabric``; none if they are not known before a launch."""
    names = _expanded(os.environ.get(JOB_NODES, "")) if os.environ.get(ALLOCATION) else tuple(fabric.nodes.names)
    without = session().without
    return tuple(name for name in names if name not in without) if without else names


def available_nodes(fabric: Fabric) -> int:
    """Returns the number of nodes of ``fabric`` without those that were taken out of the campaign, at least 1."""
    pool = node_pool(fabric)
    remaining = len(pool) if pool else fabric.nodes.count - len(session().without)
    return max(1, min(fabric.nodes.count, remaining))


class ScaleBase(LaneBase):
    """Gives a launch its nodes and ranks.

    ``at`` is the parameter of checks that run at several scales, a scale or a number of ranks; ``breadth`` says at
    which of the tier's scales they run. The scale that a user sets replaces them all.
    """

    scale: str = variable(str, value="", loggable=True)
    """Nodes and ranks on each of them, ``4x8``; empty for the scales of the tier."""
    placement: str = variable(str, value="", loggable=True)
    """The order of ranks over nodes, ``block`` or ``cyclic``; empty for block."""
    distance: str = variable(str, value="", loggable=True)
    """The distance of the nodes: ``near``, on one switch, or ``far``, on different ones; empty for any nodes."""
    breadth: Breadth = "every"
    chosen_scale: Scale | None = None

    @property
    def scale_rule(self) -> ScaleRule:
        """The scales that the benchmark supports."""
        return COLLECTIVE

    @run_after("init")
    def choose_scale(self) -> None:
        """Sets the number of ranks, and selects the fabrics and tiers that have the scale."""
        self.apply_scale()

    def apply_scale(self) -> None:
        """Sets the scale of the check."""
        at = str(getattr(self, "at", ""))
        if self.scale and at and at != type(self).param_space.params["at"].values[0]:
            self.valid_systems = []  # a single instance has the scale of the user
            return
        text = self.scale or at
        if text.isdecimal():
            self.ranks = int(text)
        elif text:
            self.chosen_scale = self._parsed(text)
            self.ranks = self.chosen_scale.ranks
        if self.chosen_scale and self.chosen_scale.ranks_per_node > 1:
            self.valid_prog_environs = ["+mpi"]  # lanes of the variant local-shm too
        if self.chosen_scale and not self.scale and not REQUESTED:
            by_fabric = _tiers(self.scale_rule, self.breadth)[self.chosen_scale]
            self.valid_systems = [f"{system().name}:{name}" for name in by_fabric]
            tiers = frozenset[str]().union(*by_fabric.values())
            self.tags: set[str] = {tag for tag in self.tags if tag in tiers}

    def _parsed(self, text: str) -> Scale:
        try:
            return scale_of(text, where=f"{type(self).__name__}.scale")
        except BadInput as error:
            raise ReframeError(error) from None

    @property
    def nodes(self) -> int:
        """Number of nodes: the scale's; else the fabric's, or one for each rank if there are fewer ranks."""
        return self.chosen_scale.nodes if self.chosen_scale else self.spread_nodes

    @property
    def spread_nodes(self) -> int:
        """Number of nodes of a launch without a scale, which uses as many nodes as possible."""
        return min(available_nodes(self.fabric), self.ranks)

    @property
    def node_pool(self) -> str:
        """The nodes from which those of the launch are chosen, in Slurm's short form; empty if they are not known."""
        return os.environ.get(JOB_NODES, "") if os.environ.get(ALLOCATION) else ",".join(node_pool(self.fabric))

    @property
    def node_choice(self) -> tuple[str, ...]:
        """The chosen nodes; empty if the launch uses all nodes of the pool, or if they are not known."""
        pool = node_pool(self.fabric)
        current = session()
        if self.node_distance:
            members = within(switches(), pool)
            return nodes_at(members, self.nodes, self.node_distance, current.block, current.seed) if members else ()
        return _chosen(pool, self.nodes, current.block, current.seed) if self.nodes < len(pool) else ()

    @property
    def node_rule(self) -> str:
        """The name of the rule that chose the nodes; empty if none did."""
        if not self.node_choice:
            return ""
        return RULES[self.node_distance] if self.node_distance else RULE

    @property
    def node_distance(self) -> Distance | None:
        """The requested distance of the nodes; None if any nodes may be used."""
        return next((distance for distance in DISTANCES if distance == self.distance), None)

    @property
    def chosen_switches(self) -> tuple[str, ...]:
        """The switch of each chosen node; empty unless a distance is requested."""
        if not self.node_distance:
            return ()
        at = {node: name for name, nodes in switches().items() for node in nodes}
        return tuple(at[node] for node in self.node_choice)

    @property
    def layout(self) -> Layout:
        """The ranks on their nodes, for the launcher."""
        named = self.node_choice or (() if os.environ.get(ALLOCATION) else node_pool(self.fabric))
        return Layout(self.nodes, self.ranks, self.rank_binding, self.rank_placement, named)

    @property
    def rank_placement(self) -> Placement | None:
        """The order of the ranks over several nodes; None if the launcher's options do not set it."""
        if self.nodes == 1 or self.stack.level != "mpi":
            return None
        default: Placement = "block"
        requested = next((placement for placement in PLACEMENTS if placement == self.placement), default)
        by_slurm = self.fabric.scheduler.launcher == "srun"
        return requested if by_slurm or requested in self.stack.placement else None

    def scale_skip(self) -> tuple[str, str] | None:
        """Returns why the launch cannot run at its scale, placement or distance, and a hint; None if it can."""
        if skip := self._placement_skip():
            return skip
        scale, fabric = self.chosen_scale, self.fabric
        if scale is None:
            return None
        if self.stack.level != "mpi":
            return "a server and a client have no scale", "set no scale"
        if scale.nodes > (count := available_nodes(fabric)):
            without = f" without {', '.join(session().without)}" if session().without else ""
            have = f"the fabric {fabric.name} has {count}{without}"
            return f"{scale} needs {scale.nodes} nodes, {have}", "choose a smaller scale: fabricbench run --scale"
        if objection := self.scale_rule.objection(scale):
            return f"{self.benchmark} needs {objection} ({scale})", "choose another scale: fabricbench run --scale"
        cores = node_cores(fabric)
        if scale.ranks_per_node > max(cores, self.least_per_node) and not self.may_oversubscribe:
            reason = f"{scale} needs {scale.ranks_per_node} cores on each node, which has {cores}"
            return reason, "choose fewer ranks on each node: fabricbench run --scale"
        if 1 == scale.nodes < min(scale.ranks, fabric.nodes.count) and fabric.transport in DEVICE_TRANSPORTS:
            reason = f"between ranks of one node the transport {fabric.transport} cannot be attested"
            return (reason, "choose several nodes: fabricbench run --scale") if self._must_be_attested else None
        return None

    def distance_skip(self) -> tuple[str, str] | None:
        """Returns why the nodes cannot have the requested distance, and a hint; None if they can."""
        if not self.distance:
            return None
        if self.node_distance is None:
            return f"unknown distance '{self.distance[:40]}'", f"choose one of {', '.join(DISTANCES)}"
        if self.nodes < 2:
            return "a launch on one node has no distance", "choose several nodes: fabricbench run --scale"
        if not switches():
            return "Slurm knows no topology of switches", f"name the switches with their nodes in {SWITCHES}"
        pool = node_pool(self.fabric)
        if not pool and FORECAST not in os.environ:
            return "the scheduler chooses the nodes of this launch", "start it with fabricbench run"
        members = within(switches(), pool) if pool else switches()
        reason = objection(members, self.nodes, self.node_distance)
        return (reason, "choose a smaller scale: fabricbench run --scale") if reason else None

    @property
    def least_per_node(self) -> int:
        """Ranks on a node that are never too many: a single node has at least the ranks that the benchmark needs."""
        return self.scale_rule.least_ranks if self.fabric.nodes.count == 1 else 1

    @property
    def may_oversubscribe(self) -> bool:
        """Whether the check itself decides about more ranks than cores."""
        return False

    @property
    def _must_be_attested(self) -> bool:
        return self.fabric.attestation == "required"

    def _placement_skip(self) -> tuple[str, str] | None:
        if not self.placement:
            return None
        if self.placement not in PLACEMENTS:
            return f"unknown placement '{self.placement[:40]}'", f"choose one of {', '.join(PLACEMENTS)}"
        if self.nodes > 1 and self.rank_placement is None:
            reason = f"no options that place the ranks of {self.stack.name} over nodes"
            return reason, f"add them to {self.stack.name} in site/stacks.py (placement)"
        return None


def scaled_limit(seconds: float, ranks: int, *, exchanges: bool) -> float:
    """Returns the time limit of a collective on ``ranks`` ranks from that on two ranks, both in seconds.

    Without exchanges between all ranks the time grows as the depth of a tree; with them, as the number of ranks.
    """
    growth = ranks / 2 if exchanges else 1 + math.log2(max(2, ranks) / 2)
    return max(seconds, min(MOST_LIMIT_SECONDS, seconds * growth))
