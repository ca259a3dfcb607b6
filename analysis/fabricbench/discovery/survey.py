# SPDX-License-Identifier: Apache-2.0
"""Looks at the machine: at Slurm and one of its nodes, or at this machine alone."""

import os
import shlex
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from fabricbench.discovery.adapters import host_name, interfaces, memory_bytes, ports
from fabricbench.discovery.fabrics import Choice, Draft, draft_fabrics, draft_local, unused
from fabricbench.discovery.modules import module_notes
from fabricbench.discovery.node_files import Files, command, parse, read_here
from fabricbench.errors import BadInput, nearest
from fabricbench.site.settings import build_root, site_root
from fabricbench.site.stacks import STACK_FILE, Stack, site_stacks
from fabricbench.slurm.allocation import Request
from fabricbench.slurm.inventory import Cluster, ClusterPartition, NodeKind, best_partition, read_cluster
from fabricbench.slurm.state import NoAnswer, output_on_node, why_not_taken

Say = Callable[[str], None]
JOB = "SLURM_JOB_ID"
SLURM_CONF = "SLURM_CONF"
MINUTES = 120
"""The time limit of the allocation of a block, unless that of the partition is shorter."""
DEFAULT_NODES = 2
SHOWN = 10


@dataclass(frozen=True, slots=True)
class SlurmDraft:
    """The scheduler and the nodes of the fabrics between nodes, before they are written.

    ``scheduler`` is ReFrame's name of it; ``notes`` become comments above the Scheduler, ``node_notes`` above the
    Nodes. ``memory_bytes`` is None if it is unknown.
    """

    cluster: str
    version: str
    scheduler: str
    access: str
    pmi: Mapping[str, str]
    minutes: int
    exclusive: bool
    nodes: int
    cores: int
    memory_bytes: int | None
    configuration: str
    notes: tuple[str, ...]
    node_notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Machine:
    """What was learned about a machine. ``host`` is the node whose files were read; ``slurm`` is None without Slurm."""

    host: str
    slurm: SlurmDraft | None
    fabrics: tuple[Draft, ...]
    stacks: tuple[str, ...]
    notes: tuple[str, ...]


def survey(say: Say, *, partition: str = "", nodes: int | None = None, local: bool = False) -> Machine:
    """Returns what Slurm and the files of a node tell; without Slurm, or if ``local``, what this machine is.

    Reads the files of a node of the partition by a job of a second; of this machine if it is itself inside a job, or
    if no node is free. ``nodes``: the nodes of the fabrics. Raises BadInput if Slurm does not answer, or if the
    partition does not exist.
    """
    if local or shutil.which("sinfo") is None:
        if partition or nodes:
            why = "--local was given" if local else "this machine has no Slurm"
            raise BadInput(f"--partition and --nodes are for Slurm, and {why}")
        return _local_machine()
    try:
        cluster = read_cluster()
    except NoAnswer as answer:
        raise BadInput(f"Slurm does not answer: {answer}", hint="--local describes this machine alone") from None
    return _cluster_machine(cluster, _chosen(cluster, partition), nodes, say)


def available_stacks() -> frozenset[str]:
    """Returns the names of the stacks that are set up, or that Spack has built in ``build/views``."""
    records = {file.parent.name for file in (build_root() / "stacks").glob(f"*/{STACK_FILE}")}
    return frozenset(records | {folder.name for folder in (build_root() / "views").glob("*") if folder.is_dir()})


def _local_machine() -> Machine:
    files = read_here()
    declared = list(site_stacks(site_root()).values())
    fabrics = draft_local(Choice(declared, available_stacks()))
    names = [port.name for port in ports(files) if port.active]
    notes = [f"Adapters of this machine without a fabric, because one node cannot attest them: {', '.join(names)}."]
    return _machine(host_name(files), None, fabrics, declared, [*(notes if names else []), *module_notes()])


def _cluster_machine(cluster: Cluster, partition: ClusterPartition, nodes: int | None, say: Say) -> Machine:
    access = f"--partition={shlex.quote(partition.name)}"
    files, problem = _node_files(shlex.split(access), say)
    kind = max(partition.kinds, key=lambda one: (partition.kinds[one], one))
    slurm = _slurm_draft(cluster, partition, kind, access, _node_count(partition, nodes))
    if not problem:
        slurm = replace(slurm, memory_bytes=_memory(cluster, kind, files))
    stacks = site_stacks(site_root())
    missing = _without_pmi(stacks.values(), cluster.pmi)
    declared = [stack for stack in stacks.values() if stack.name not in missing]
    found = ports(files), interfaces(files)
    fabrics = draft_fabrics(*found, Choice(declared, available_stacks()))
    notes = [problem] if problem else []
    notes += [f"srun offers no {stacks[name].pmi}, which {name} needs, so that no fabric names it." for name in missing]
    if not fabrics:
        raise BadInput(
            f"no port of an adapter and no interface with an IPv4 network on {host_name(files) or 'the node'}",
            hint="copy site/_template and enter them (docs/add-a-site.md)",
        )
    return _machine(host_name(files), slurm, fabrics, declared, [*notes, *unused(*found), *module_notes()])


def _machine(
    host: str, slurm: SlurmDraft | None, fabrics: Sequence[Draft], declared: Sequence[Stack], notes: Sequence[str]
) -> Machine:
    """The machine, with the stacks of its fabrics in the order of ``site/stacks.py``; fabrics without any are notes."""
    kept = [draft for draft in fabrics if draft.stacks]
    lost = [
        f"No stack here can use the fabric {draft.name} ({', '.join(draft.ports)})."
        for draft in fabrics
        if draft not in kept
    ]
    names = {name for draft in kept for name in draft.stacks}
    if not kept:
        raise BadInput("no stack of site/stacks.py can be used here", hint="see docs/add-a-stack.md")
    stacks = tuple(stack.name for stack in declared if stack.name in names)
    if slurm:
        slurm = replace(slurm, pmi={name: pmi for name, pmi in slurm.pmi.items() if name in stacks})
    return Machine(host or "this machine", slurm, tuple(kept), stacks, (*notes, *lost))


def _chosen(cluster: Cluster, name: str) -> ClusterPartition:
    """The partition of this name, else the best one; raises BadInput if there is none with nodes."""
    by_name = {one.name: one for one in cluster.partitions}
    if name and name not in by_name:
        raise BadInput(f"no partition '{name}'", where="--partition", expected=nearest(name, by_name))
    partition = by_name[name] if name else best_partition(cluster.partitions)
    if partition is None or not partition.total:
        what = f"the partition {name} has no nodes" if name else "Slurm has no open partition with nodes"
        raise BadInput(
            what, where="--partition", expected=nearest("", [one.name for one in by_name.values() if one.total])
        )
    return partition


def _node_count(partition: ClusterPartition, requested: int | None) -> int:
    if requested and requested > partition.total:
        what = f"{requested} nodes, and the partition {partition.name} has {partition.total}"
        raise BadInput(what, where="--nodes", expected=f"at most {partition.total}")
    return requested or max(1, min(DEFAULT_NODES, partition.up))


def _node_files(access: Sequence[str], say: Say) -> tuple[Files, str]:
    """The files of a node, and why they are those of this machine instead; empty if they are not."""
    if os.environ.get(JOB):
        return read_here(), ""
    say(f"reading the adapters of a node: srun {' '.join(access)}")
    try:
        files = parse(output_on_node(access, *command()))
        reason = "" if host_name(files) else "its files could not be printed"
    except NoAnswer as answer:
        files, reason = {}, str(answer)
    if not reason:
        return files, ""
    files = read_here()
    host = host_name(files) or "this machine"
    say(f"no node could be read: {reason}; reading {host} instead")
    return files, (
        f"No node could be read ({reason}). Adapters, ports and interfaces are those of {host}, where the command ran. "
        "To read a node, run it there: srun -N 1 fabricbench site new ..."
    )


def _slurm_draft(cluster: Cluster, partition: ClusterPartition, kind: NodeKind, access: str, nodes: int) -> SlurmDraft:
    minutes = min(MINUTES, partition.minutes or MINUTES)
    exclusive, refusal = _sharing(partition, access, nodes, kind.cores, minutes)
    return SlurmDraft(
        cluster=cluster.name,
        version=cluster.version,
        scheduler="slurm" if cluster.has_accounting and shutil.which("sacct") else "squeue",
        access=access,
        pmi=_pmi(site_stacks(site_root()).values(), cluster.pmi),
        minutes=minutes,
        exclusive=exclusive,
        nodes=nodes,
        cores=kind.cores,
        memory_bytes=kind.memory_bytes if cluster.manages_memory and kind.memory_bytes else None,
        configuration=os.environ.get(SLURM_CONF, ""),
        notes=tuple(_scheduler_notes(cluster, partition, exclusive, refusal)),
        node_notes=tuple(_node_notes(cluster, partition, kind, nodes)),
    )


def _sharing(partition: ClusterPartition, access: str, nodes: int, cores: int, minutes: int) -> tuple[bool, str]:
    """Whether whole nodes are requested, and why Slurm would refuse either request; empty if it would not."""
    if partition.shares_nodes:
        return False, ""
    exclusive = Request((access,), nodes, minutes, exclusive=True)
    try:
        refusal = why_not_taken(exclusive.demands)
        shared = replace(exclusive, exclusive=False, cores=cores)
        if refusal and not why_not_taken(shared.demands):
            return False, ""
    except NoAnswer:
        return True, ""
    return True, refusal


def _scheduler_notes(cluster: Cluster, partition: ClusterPartition, exclusive: bool, refusal: str) -> Iterator[str]:
    open_ones = [one for one in cluster.partitions if one.name != partition.name and one.total]
    names = [f"{one.name} ({one.up} of {one.total} nodes up)" for one in open_ones[:SHOWN]]
    if names:
        more = f", and {len(open_ones) - SHOWN} more" if len(open_ones) > SHOWN else ""
        yield f"Other partitions: {', '.join(names)}{more}. --partition selects one of them."
    if partition.accounts:
        yield f"The partition is for the accounts {partition.accounts}. Add --account=... to access."
    if not exclusive:
        yield "Slurm does not allocate whole nodes here: the ports' counters may include the traffic of other jobs."
    if refusal:
        yield f"Slurm would refuse the jobs: {refusal}. Add what is missing to access: --account=..., --qos=..."
    if cluster.pmi is None:
        yield "srun --mpi=list did not answer: the PMI of each stack is that of site/stacks.py."
    if not cluster.has_accounting:
        yield "Slurm keeps no accounts here (sacct), so that ReFrame follows its jobs by squeue."


def _node_notes(cluster: Cluster, partition: ClusterPartition, kind: NodeKind, nodes: int) -> Iterator[str]:
    yield f"The partition {partition.name} has {partition.up} of {partition.total} nodes up; launches use {nodes}."
    if kind.threads_per_core > 1:
        yield f"cores are physical ones; each has {kind.threads_per_core} hardware threads."
    others = sorted(((count, one) for one, count in partition.kinds.items() if one != kind), reverse=True)
    if others:
        text = ", ".join(
            f"{count} of {one.cores} cores and {one.memory_bytes / 2**30:.0f} GiB" for count, one in others
        )
        yield (
            f"The numbers are those of {partition.kinds[kind]} nodes. The partition has others too: {text}. "
            "--constraint=... or --exclude=... in access leaves them out."
        )
    if not cluster.manages_memory:
        yield "Slurm does not manage memory here; memory_bytes is that of the node that was read."


def _pmi(stacks: Iterable[Stack], offered: frozenset[str] | None) -> dict[str, str]:
    """The PMI of stacks whose own one srun lists only with its version: ``pmix`` as ``pmix_v5``."""
    result = {}
    for stack in stacks:
        if offered is not None and stack.pmi and stack.pmi not in offered:
            versions = [name for name in offered if name.startswith(f"{stack.pmi}_v")]
            if versions:
                result[stack.name] = max(versions, key=lambda name: (len(name), name))
    return result


def _without_pmi(stacks: Iterable[Stack], offered: frozenset[str] | None) -> list[str]:
    """The stacks whose PMI srun does not offer in any version."""
    by_version = _pmi(stacks, offered)
    return [
        stack.name
        for stack in stacks
        if offered is not None and stack.pmi and stack.pmi not in offered and stack.name not in by_version
    ]


def _memory(cluster: Cluster, kind: NodeKind, files: Files) -> int | None:
    """The memory of a node: what it has, or less if Slurm gives jobs less."""
    limits = [memory_bytes(files), kind.memory_bytes if cluster.manages_memory else None]
    return min((limit for limit in limits if limit), default=None)
