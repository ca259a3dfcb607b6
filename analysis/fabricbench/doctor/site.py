# SPDX-License-Identifier: Apache-2.0
"""Finds the problems of a site before a job is submitted: in its files, and in the cluster that they describe."""

import importlib.resources
import json
import os
import re
import socket
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeVar

from jsonschema import Draft7Validator

from fabricbench.attestation.ports import DEVICES
from fabricbench.doctor.targets import target_problems
from fabricbench.errors import BadInput, nearest
from fabricbench.files.layout import REQUIREMENTS
from fabricbench.parsers.registry import TOOLS, benchmarks
from fabricbench.site.fabric import SCHEDULERS, SLURM, Fabric
from fabricbench.site.lane import Lane, LaneName
from fabricbench.site.requirements import Requirement, Requirements, check_names, refuse_timing
from fabricbench.site.requirements_file import load_requirements
from fabricbench.site.settings import Settings, lanes, lanes_of, load_settings, settings_file
from fabricbench.site.system import System
from fabricbench.slurm.allocation import request_of
from fabricbench.slurm.check import Demand, slurm_problems

ProblemState = Literal["broken", "warning", "not checked"]
_Name = TypeVar("_Name", str, tuple[str, str])


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem in one line: what, where, and the hint. A site with a ``broken`` problem cannot be run."""

    state: ProblemState
    text: str


@dataclass(frozen=True, slots=True)
class _Site:
    """A loaded site. ``selection`` lanes limit the check to their fabrics; without any, all are checked."""

    file: Path
    settings: Settings
    selection: Collection[str]

    @property
    def system(self) -> System:
        return self.settings.system

    @property
    def fabrics(self) -> list[Fabric]:
        """The fabrics of the selected lanes."""
        names = {LaneName.of(lane).fabric for lane in self.selection}
        return [fabric for fabric in self.system.fabrics if not names or fabric.name in names]

    def lanes(self) -> list[Lane]:
        return lanes_of(self.system)

    def broken(self, what: str, *, expected: str = "", hint: str = "") -> Problem:
        return self._problem("broken", what, expected, hint)

    def warning(self, what: str, *, expected: str = "", hint: str = "") -> Problem:
        return self._problem("warning", what, expected, hint)

    def unchecked(self, what: str) -> Problem:
        return self._problem("not checked", what, "", "")

    def _problem(self, state: ProblemState, what: str, expected: str, hint: str) -> Problem:
        return Problem(state, str(BadInput(what, where=str(self.file), expected=expected, hint=hint)))


def site_problems(system: str, selection: Collection[str] = (), without: tuple[str, ...] = ()) -> list[Problem]:
    """The problems of the site of ``system``, and what could not be checked on this machine.

    ``selection`` lanes limit the check to their fabrics; ``without`` names nodes that are not needed. BadInput for an
    unknown site. Nothing is submitted.
    """
    file = settings_file(system)
    try:
        site = _Site(file, load_settings(file), selection)
    except BadInput as error:
        unchecked = Problem("not checked", f"{file}: the rest of the file, because it cannot be loaded")
        return [Problem("broken", str(error)), unchecked, *_requirements(file, None)]
    problems = [*_form(site), *_names(site)]
    if any(problem.state == "broken" for problem in problems):
        return [*problems, site.unchecked("what the fabrics need of the cluster, until the file is correct")]
    for fabric in site.fabrics:
        problems += [*_start(site, fabric), *_modules(site, fabric), *_ports(site, fabric)]
    problems += [*_lanes(site), *_requirements(file, site)]
    every = site.lanes()
    of_targets = [problem for fabric in site.fabrics for problem in target_problems(fabric, every)]
    problems += [
        Problem(state, str(BadInput(what, where=str(file), hint=hint)))
        for state, what, hint in (
            *of_targets,
            *slurm_problems([_demand(site, fabric, without) for fabric in site.fabrics]),
        )
    ]
    return problems


def demand_sound(system: str, selection: Collection[str] = (), without: tuple[str, ...] = ()) -> None:
    """Raises BadInput with the first problem that prevents a run on the site. Nothing is submitted."""
    problems = [problem.text for problem in site_problems(system, selection, without) if problem.state == "broken"]
    if problems:
        more = f" ({len(problems) - 1} more: fabricbench doctor --site --system {system})" if problems[1:] else ""
        raise BadInput(problems[0] + more)


def _form(site: _Site) -> Iterator[Problem]:
    """Checks keys and types by ReFrame's schema. ReFrame itself supplies the top-level sections that a site omits."""
    schema = json.loads(importlib.resources.files("reframe").joinpath("schemas/config.json").read_text())
    for error in Draft7Validator(schema).iter_errors(site.settings.configuration):
        if error.validator == "required" and not error.absolute_path:
            continue
        place = ".".join(map(str, error.absolute_path)) or "site_configuration"
        yield site.broken(f"{place}: {' '.join(error.message.split())[:200]}")


def _names(site: _Site) -> Iterator[Problem]:
    folder = site.file.parent.name
    if site.system.name != folder:
        what = f"the system is called '{site.system.name}'"
        yield site.broken(what, expected=f"'{folder}', the name of its folder")
    entries = [(fabric.name, name) for fabric in site.system.fabrics for name in fabric.stacks]
    kinds: tuple[tuple[str, list[str]], ...] = (
        ("fabric", [fabric.name for fabric in site.system.fabrics]),
        ("stack", list(site.system.stacks)),
    )
    for kind, names in kinds:
        for name in _duplicates(names):
            yield site.broken(f"duplicate {kind} '{name}'", hint="remove one of them")
        for name in names:
            if not re.fullmatch(r"[A-Za-z_][\w-]*", name, re.ASCII):
                yield site.broken(f"the {kind} '{name[:40]}'", expected="letters, digits, '_' and '-' only")
    for place, name in _duplicates(entries):
        yield site.broken(f"fabric {place} names the stack '{name}' twice", hint="remove one of them")
    for name in sorted(set(site.system.stacks) - {name for _, name in entries}):
        yield site.warning(f"no fabric names the stack '{name}'", hint="add it to the stacks of a fabric")


def _duplicates(names: list[_Name]) -> list[_Name]:
    return [name for name, count in Counter(names).items() if count > 1]


def _start(site: _Site, fabric: Fabric) -> Iterator[Problem]:
    """Checks that scheduler, launcher and number of nodes are compatible."""
    scheduler, launcher, name = fabric.scheduler.name, fabric.scheduler.launcher, fabric.name
    if scheduler not in SCHEDULERS:
        what = f"fabric {name}: unknown scheduler '{scheduler}'"
        yield site.broken(what, expected=nearest(scheduler, SCHEDULERS))
    elif launcher == "srun" and scheduler not in (*SLURM, "local"):
        what = f"fabric {name}: the launcher srun is Slurm's, the scheduler is {scheduler}"
        yield site.broken(what, expected="mpirun")
    elif scheduler == "local" and fabric.nodes.count > 1:
        what = f"fabric {name}: {fabric.nodes.count} nodes without a scheduler: only within an allocation of your own"
        yield site.warning(what, hint="name a scheduler")
    elif scheduler not in (*SLURM, "local"):
        yield site.unchecked(f"fabric {name}: queues and nodes of {scheduler}; only Slurm is queried")


def _modules(site: _Site, fabric: Fabric) -> Iterator[Problem]:
    """Checks that the modules exist, by their files in MODULEPATH, without starting a module system."""
    modules, folders = fabric.scheduler.modules, os.environ.get("MODULEPATH", "").split(":")
    if modules and site.system.modules_system == "nomod":
        what = f"fabric {fabric.name} names modules, but the System has no modules_system"
        yield site.broken(what, expected="modules_system='lmod', 'tmod4' or 'envmod' of the System")
    elif modules and not any(folders):
        yield site.unchecked(f"fabric {fabric.name}: the modules {' '.join(modules)}; MODULEPATH is not set here")
    else:
        absent = [module for module in modules if not any(_is_module(Path(f), module) for f in folders if f)]
        for module in absent:
            what = f"fabric {fabric.name}: no module '{module}' in MODULEPATH"
            if module == modules[0]:
                yield site.broken(what, hint="module avail lists them")
            else:
                yield site.unchecked(f"{what}; an earlier module may provide it")


def _is_module(folder: Path, module: str) -> bool:
    return (folder / module).exists() or (folder / f"{module}.lua").is_file()


def _ports(site: _Site, fabric: Fabric) -> Iterator[Problem]:
    name, between = fabric.name, fabric.nodes.count > 1
    has_counters = between and fabric.ports
    if fabric.transport in DEVICES and not has_counters and fabric.attestation == "required":
        why = "it declares no ports" if between else "it has one node"
        what = f"fabric {name}: {why}, so that no launch on {fabric.transport} can be attested"
        yield site.warning(what, hint="name nodes and ports, or set attestation='optional'")
    absent = [port for port in fabric.ports if not _is_port(port)]
    if absent and fabric.scheduler.name == "local":
        what = f"fabric {name}: this node has no port {', '.join(absent)}"
        yield site.warning(what, hint="list this node's ports with: ip link; ls /sys/class/infiniband")
    elif absent:
        yield site.unchecked(
            f"fabric {name}: the port {', '.join(absent)} is not on this node; this node may not belong to the fabric"
        )


def _is_port(port: str) -> bool:
    """Whether this node has the port: an interface such as ``eth0``, or an adapter's port such as ``mlx5_0:1``."""
    adapter, colon, number = port.partition(":")
    if colon:
        return Path("/sys/class/infiniband", adapter, "ports", number).is_dir()
    return port in (name for _, name in socket.if_nameindex()) or Path("/sys/class/cxi", port).exists()


def _lanes(site: _Site) -> Iterator[Problem]:
    """Warns of lanes whose launches will be skipped; once for all lanes of a stack that is not set up."""
    warned: set[str] = set()
    for lane in site.lanes():
        if (
            lane.unavailable
            and (not site.selection or lane.name in site.selection)
            and lane.unavailable.reason not in warned
        ):
            warned.add(lane.unavailable.reason)
            yield site.warning(f"{lane.name} will be skipped: {lane.unavailable.reason}", hint=lane.unavailable.hint)


def check_requirements(system: str) -> int | None:
    """Checks the names in the site's requirements. Returns how many requirements there are; None without a file."""
    file = settings_file(system).with_name(REQUIREMENTS)
    return len(load_requirements(file, _known_names(lanes(system))).items) if file.exists() else None


def _known_names(available: Collection[Lane]) -> dict[str, set[str]]:
    """Returns the names that requirements may use, by kind."""
    return {
        "stack": {lane.stack.name for lane in available},
        "fabric": {lane.fabric.name for lane in available},
        "tool": set(TOOLS),
        "benchmark": benchmarks(),
    }


def _requirements(file: Path, site: _Site | None) -> Iterator[Problem]:
    """Checks each requirement by itself. If the site cannot be loaded, checks only the form of the file."""
    path = file.with_name(REQUIREMENTS)
    if not path.exists():
        yield Problem("warning", f"{path}: no requirements, so nothing is judged")
        return
    try:
        items = load_requirements(path).items
    except BadInput as error:
        yield Problem("broken", str(error))
        return
    if site is None:
        return
    available = site.lanes()
    accepted = _known_names(available)
    for item in items:
        problems = (
            list(_unknown_names(item, accepted)) or list(_unmeasured(item, available)) or list(_timing(item, available))
        )
        yield from (Problem("broken", str(error)) for error in problems)
        yield from () if problems else _too_many_nodes(item, available)


def _unknown_names(item: Requirement, accepted: Mapping[str, Collection[str]]) -> Iterator[BadInput]:
    for kind, names in accepted.items():
        try:
            check_names(Requirements(item.path, (item,)), {kind: names})
        except BadInput as error:
            yield error


def _unmeasured(item: Requirement, available: list[Lane]) -> Iterator[BadInput]:
    """Checks that the requirement selects a lane of the site."""
    if not _candidates(item, available):
        stacks, fabrics = item.many.get("stack", ()), item.many.get("fabric", ())
        selection = f"{' or '.join(stacks)}@{' or '.join(fabrics)}"
        expected = nearest(selection, [lane.name for lane in available])
        yield BadInput(f"{item.id}: there is no lane {selection}", where=item.where("select"), expected=expected)


def _candidates(item: Requirement, available: list[Lane]) -> list[Lane]:
    """Returns the lanes of the site that the requirement selects by stack and fabric."""
    stacks, fabrics = item.many.get("stack"), item.many.get("fabric")
    return [
        lane
        for lane in available
        if (stacks is None or lane.stack.name in stacks) and (fabrics is None or lane.fabric.name in fabrics)
    ]


def _too_many_nodes(item: Requirement, available: list[Lane]) -> Iterator[Problem]:
    """Warns of a requirement on more nodes than the selected fabrics have: this site cannot measure it."""
    nodes = max(item.counts.get("nodes", 1), int(item.relative_to.get("nodes", 1)))
    largest = max(lane.fabric.nodes.count for lane in _candidates(item, available))
    if nodes > largest:
        what = f"{item.id} needs {nodes} nodes, and the selected fabrics have at most {largest}"
        hint = "its verdict will be INCONCLUSIVE on this site"
        yield Problem("warning", str(BadInput(what, where=item.where("select.nodes"), hint=hint)))


def _timing(item: Requirement, available: list[Lane]) -> Iterator[BadInput]:
    """Checks that a requirement on times selects no lane whose times are no measurements."""
    names = {LaneName.of(lane.name): lane.fabric.function_only for lane in available}
    function_only = {lane: reason for lane, reason in names.items() if reason}
    try:
        refuse_timing(Requirements(item.path, (item,)), function_only, list(names))
    except BadInput as error:
        yield error


def _demand(site: _Site, fabric: Fabric, without: tuple[str, ...]) -> Demand:
    stacks = {LaneName.of(lane).stack for lane in site.selection}
    pmi = {
        lane.stack.name: lane.pmi
        for lane in site.lanes()
        if lane.fabric == fabric
        and lane.stack.level == "mpi"
        and (not stacks or lane.stack.name in stacks)
        and lane.pmi is not None
    }
    return Demand(fabric=fabric.name, request=request_of(fabric, without), pmi=pmi)
