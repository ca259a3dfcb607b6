# SPDX-License-Identifier: Apache-2.0
"""Describes the cluster that Slurm manages: its partitions, the kinds of nodes in each, and what ``srun`` offers."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from fabricbench.slurm import state
from fabricbench.slurm.state import NoAnswer, host_names

_MIB = 2**20
_DURATION = re.compile(r"(?:(\d+)-)?(?:(\d+):)?(\d+):(\d+)$")
_NODE_DOWN = ("DOWN", "DRAIN", "FAIL", "UNKNOWN", "NOT_RESPONDING", "FUTURE", "POWERED_DOWN", "INVALID", "ERROR", "*")


@dataclass(frozen=True, slots=True, order=True)
class NodeKind:
    """The size of a node: physical cores, hardware threads of a core, and the memory that Slurm manages."""

    cores: int
    threads_per_core: int
    memory_bytes: int


@dataclass(frozen=True, slots=True)
class ClusterPartition:
    """A partition: ``minutes`` is its time limit, None without one; ``up`` and ``total`` count its nodes.

    ``kinds`` holds the number of nodes of each kind, of those that are up if any is. ``accounts`` are the accounts
    that may use it, empty if all may. ``shares_nodes`` says that Slurm gives its nodes to several jobs at once
    whatever a job requests.
    """

    name: str
    default: bool
    available: bool
    minutes: int | None
    accounts: str
    shares_nodes: bool
    up: int
    total: int
    kinds: Mapping[NodeKind, int]


@dataclass(frozen=True, slots=True)
class Cluster:
    """Slurm's description of a cluster. ``pmi`` is what ``srun --mpi`` accepts, None if srun does not answer.

    ``has_accounting``: whether ``sacct`` knows finished jobs. ``manages_memory``: whether jobs are limited to the
    memory that they request.
    """

    name: str
    version: str
    has_accounting: bool
    manages_memory: bool
    partitions: tuple[ClusterPartition, ...]
    pmi: frozenset[str] | None


def read_cluster() -> Cluster:
    """Returns the description of the cluster; raises NoAnswer if Slurm does not answer."""
    settings = state.configuration()
    nodes = {name: fields for fields in state.entities("node") if (name := fields.get("NodeName"))}
    try:
        pmi: frozenset[str] | None = frozenset(state.offered_pmi())
    except NoAnswer:
        pmi = None
    return Cluster(
        name=settings.get("ClusterName", ""),
        version=settings.get("SLURM_VERSION", ""),
        has_accounting=settings.get("AccountingStorageType", "").endswith("slurmdbd"),
        manages_memory="MEMORY" in settings.get("SelectTypeParameters", "").upper(),
        partitions=tuple(_partition(fields, nodes) for fields in state.entities("partition")),
        pmi=pmi,
    )


def _partition(fields: Mapping[str, str], nodes: Mapping[str, Mapping[str, str]]) -> ClusterPartition:
    node_list = fields.get("Nodes", "")
    names = [] if node_list in ("", "(null)") else host_names(node_list)
    members = [nodes[name] for name in names if name in nodes]
    up = [node for node in members if _is_up(node.get("State", ""))]
    accounts = fields.get("AllowAccounts", "ALL")
    return ClusterPartition(
        name=fields.get("PartitionName", ""),
        default=fields.get("Default") == "YES",
        available=fields.get("State") == "UP",
        minutes=_minutes(fields.get("MaxTime", "")),
        accounts="" if accounts in ("ALL", "(null)") else accounts,
        shares_nodes=fields.get("OverSubscribe", "").startswith("FORCE"),
        up=len(up),
        total=len(members),
        kinds=Counter(_kind(node) for node in up or members),
    )


def _is_up(text: str) -> bool:
    """Whether a node in this state, such as ``IDLE+DRAIN`` or ``DOWN*``, runs jobs."""
    return bool(text) and not any(word in text for word in _NODE_DOWN)


def _kind(node: Mapping[str, str]) -> NodeKind:
    threads = _number(node, "ThreadsPerCore", 1)
    cores = _number(node, "Sockets", 0) * _number(node, "CoresPerSocket", 0)
    return NodeKind(
        cores or max(1, _number(node, "CPUTot", 1) // threads), threads, _number(node, "RealMemory", 0) * _MIB
    )


def _number(node: Mapping[str, str], name: str, default: int) -> int:
    text = node.get(name, "")
    return int(text) if text.isascii() and text.isdecimal() else default


def _minutes(text: str) -> int | None:
    """A duration such as ``1-12:00:00`` or ``02:00:00`` in minutes, at least 1; None for ``UNLIMITED``."""
    match = _DURATION.match(text)
    if match is None:
        return None
    days, hours, minutes, _ = (int(part or 0) for part in match.groups())
    return max(1, (days * 24 + hours) * 60 + minutes)


def best_partition(partitions: Iterable[ClusterPartition]) -> ClusterPartition | None:
    """Returns the default partition if it has nodes that are up, else the open one with the most; None without any."""
    candidates = [one for one in partitions if one.available and one.total]
    return max(candidates, key=lambda one: (one.default and one.up > 0, one.up, one.total), default=None)
