# SPDX-License-Identifier: Apache-2.0
"""Everything that is wrong with a site, before a job is sent: its files, and what they ask of this cluster."""

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
from fabricbench.errors import BadInput, nearest
from fabricbench.files.layout import REQUIREMENTS
from fabricbench.parsers.registry import TOOLS, benchmarks
from fabricbench.site.fabric import SCHEDULERS, SLURM, Fabric
from fabricbench.site.lane import Lane, lane_parts
from fabricbench.site.requirements import Requirement, Requirements, check_names, load
from fabricbench.site.settings import Settings, lanes, lanes_of, load_settings, settings_file
from fabricbench.site.system import System
from fabricbench.slurm.allocation import request_of
from fabricbench.slurm.check import Asked, slurm_problems

State = Literal["broken", "warning", "not checked"]
_Name = TypeVar("_Name", str, tuple[str, str])


@dataclass(frozen=True, slots=True)
class Problem:
    """One line: what, where, what to do. Only what is ``broken`` keeps a site from being run."""

    state: State
    text: str


@dataclass(frozen=True, slots=True)
class _Site:
    """A site as loaded. ``chosen`` are the lanes to examine, all if there are none."""

    file: Path
    settings: Settings
    chosen: Collection[str]

    @property
    def system(self) -> System:
        return self.settings.system

    @property
    def fabrics(self) -> list[Fabric]:
        """The fabrics of the chosen lanes."""
        wanted = {lane_parts(lane)[1] for lane in self.chosen}
        return [fabric for fabric in self.system.fabrics if not wanted or fabric.name in wanted]

    def lanes(self) -> list[Lane]:
        return lanes_of(self.system)

    def broken(self, what: str, *, expected: str = "", hint: str = "") -> Problem:
        return self._problem("broken", what, expected, hint)

    def warning(self, what: str, *, expected: str = "", hint: str = "") -> Problem:
        return self._problem("warning", what, expected, hint)

    def unchecked(self, what: str) -> Problem:
        return self._problem("not checked", what, "", "")

    def _problem(self, state: State, what: str, expected: str, hint: str) -> Problem:
        return Problem(state, str(BadInput(what, where=str(self.file), expected=expected, hint=hint)))


def site_problems(system: str, chosen: Collection[str] = ()) -> list[Problem]:
    """All that is wrong with the site of ``system``, and what could not be checked from here.

    ``chosen`` lanes: of the fabrics only theirs. BadInput where there is no such site. Nothing is submitted.
    """
    file = settings_file(system)
    try:
        site = _Site(file, load_settings(file), chosen)
    except BadInput as error:
        unchecked = Problem("not checked", f"{file}: all else that it says, because it does not load")
        return [Problem("broken", str(error)), unchecked, *_requirements(file, None)]
    found = [*_form(site), *_names(site)]
    if any(problem.state == "broken" for problem in found):
        return [*found, site.unchecked("what the fabrics ask of the cluster, until that is mended")]
    for fabric in site.fabrics:
        found += [*_start(site, fabric), *_modules(site, fabric), *_ports(site, fabric)]
    found += [*_lanes(site), *_requirements(file, site)]
    found += [
        Problem(state, str(BadInput(what, where=str(file), hint=hint)))
        for state, what, hint in slurm_problems([_asked(site, fabric) for fabric in site.fabrics])
    ]
    return found


def demand_sound(system: str, chosen: Collection[str] = ()) -> None:
    """BadInput with the first thing that keeps the site from being run, before anything is submitted."""
    broken = [problem.text for problem in site_problems(system, chosen) if problem.state == "broken"]
    if broken:
        more = f" ({len(broken) - 1} more: fabricbench doctor --site --system {system})" if broken[1:] else ""
        raise BadInput(broken[0] + more)


def _form(site: _Site) -> Iterator[Problem]:
    """Keys and types, by ReFrame's own schema; of its sections ReFrame itself brings those that a site leaves out."""
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
    pairings = [(fabric, name) for fabric in site.system.fabrics for name in fabric.stacks]
    named = [(fabric.name, name) for fabric, name in pairings]
    kinds: tuple[tuple[str, list[str]], ...] = (
        ("fabric", [fabric.name for fabric in site.system.fabrics]),
        ("stack", list(site.system.stacks)),
    )
    for kind, names in kinds:
        for name in _twice(names):
            yield site.broken(f"the {kind} '{name}' stands twice", hint="leave one of them")
        for name in names:
            if not re.fullmatch(r"[A-Za-z_][\w-]*", name, re.ASCII):
                yield site.broken(f"the {kind} '{name[:40]}'", expected="letters, digits, '_' and '-' only")
    for place, name in _twice(named):
        yield site.broken(f"fabric {place} names the stack '{name}' twice", hint="leave one of them")
    unknown = {(fabric.name, name): fabric for fabric, name in pairings if name not in site.system.stacks}
    for (_, name), fabric in unknown.items():
        yield Problem("broken", str(site.system.unknown_stack(fabric, name)))
    for name in sorted(set(site.system.stacks) - {name for _, name in named}):
        yield site.warning(f"no fabric names the stack '{name}'", hint="add it to the stacks of a fabric")


def _twice(names: list[_Name]) -> list[_Name]:
    return [name for name, count in Counter(names).items() if count > 1]


def _start(site: _Site, fabric: Fabric) -> Iterator[Problem]:
    """Scheduler and launcher fit each other, and the number of nodes."""
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
        yield site.unchecked(f"fabric {name}: queues and nodes of {scheduler}; only Slurm is asked")


def _modules(site: _Site, fabric: Fabric) -> Iterator[Problem]:
    """Modules are found by their files, without starting a module system."""
    modules, folders = fabric.scheduler.modules, os.environ.get("MODULEPATH", "").split(":")
    if modules and site.system.modules_system == "nomod":
        what = f"fabric {fabric.name}: modules, but no modules_system to load them"
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
                yield site.unchecked(f"{what}; an earlier one may bring it")


def _is_module(folder: Path, module: str) -> bool:
    return (folder / module).exists() or (folder / f"{module}.lua").is_file()


def _ports(site: _Site, fabric: Fabric) -> Iterator[Problem]:
    name, between = fabric.name, fabric.nodes.count > 1
    counted = between and fabric.ports
    if fabric.transport in DEVICES and not counted and fabric.attestation == "required":
        why = "it names no ports" if between else "it has one node"
        what = f"fabric {name}: {why}, so that no launch on {fabric.transport} can be attested"
        yield site.warning(what, hint="name nodes and ports, or say attestation='optional'")
    absent = [port for port in fabric.ports if not _is_port(port)]
    if absent and fabric.scheduler.name == "local":
        what = f"fabric {name}: this node has no port {', '.join(absent)}"
        yield site.warning(what, hint="ip link and ls /sys/class/infiniband name them")
    elif absent:
        yield site.unchecked(
            f"fabric {name}: the port {', '.join(absent)} is not on this node, which may be no node of it"
        )


def _is_port(port: str) -> bool:
    """An interface as ``eth0``, an adapter's port as ``mlx5_0:1``."""
    adapter, colon, number = port.partition(":")
    if colon:
        return Path("/sys/class/infiniband", adapter, "ports", number).is_dir()
    return port in (name for _, name in socket.if_nameindex()) or Path("/sys/class/cxi", port).exists()


def _lanes(site: _Site) -> Iterator[Problem]:
    """Warns of lanes whose launches will be skipped; once for all lanes of a stack that is not set up."""
    warned: set[str] = set()
    for lane in site.lanes():
        if lane.unavailable and (not site.chosen or lane.name in site.chosen) and lane.unavailable.reason not in warned:
            warned.add(lane.unavailable.reason)
            yield site.warning(f"{lane.name} will be skipped: {lane.unavailable.reason}", hint=lane.unavailable.hint)


def check_requirements(system: str) -> int | None:
    """Checks the names in the site's requirements. Returns how many requirements there are; None without a file."""
    file = settings_file(system).with_name(REQUIREMENTS)
    return len(load(file, _known_names(lanes(system))).items) if file.exists() else None


def _known_names(available: Collection[Lane]) -> dict[str, set[str]]:
    """Returns the names that requirements may use, by kind."""
    return {
        "stack": {lane.stack.name for lane in available},
        "fabric": {lane.fabric.name for lane in available},
        "tool": set(TOOLS),
        "benchmark": benchmarks(),
    }


def _requirements(file: Path, site: _Site | None) -> Iterator[Problem]:
    """Each requirement by itself; of a site that does not load only their form."""
    path = file.with_name(REQUIREMENTS)
    if not path.exists():
        yield Problem("warning", f"{path}: no requirements, so nothing is judged")
        return
    try:
        items = load(path).items
    except BadInput as error:
        yield Problem("broken", str(error))
        return
    if site is None:
        return
    available = site.lanes()
    known = _known_names(available)
    for item in items:
        wrong = list(_unknown_names(item, known)) or list(_unmeasured(item, available))
        yield from (Problem("broken", str(error)) for error in wrong)


def _unknown_names(item: Requirement, known: Mapping[str, Collection[str]]) -> Iterator[BadInput]:
    for kind, names in known.items():
        try:
            check_names(Requirements(item.path, (item,)), {kind: names})
        except BadInput as error:
            yield error


def _unmeasured(item: Requirement, available: list[Lane]) -> Iterator[BadInput]:
    """No lane of the site is what the requirement selects."""
    stacks, fabrics = item.many.get("stack"), item.many.get("fabric")
    meant = [
        lane
        for lane in available
        if (stacks is None or lane.stack.name in stacks) and (fabrics is None or lane.fabric.name in fabrics)
    ]
    if not meant:
        asked = f"{' or '.join(stacks or ())}@{' or '.join(fabrics or ())}"
        expected = nearest(asked, [lane.name for lane in available])
        yield BadInput(f"{item.id}: there is no lane {asked}", where=item.where("select"), expected=expected)
        return
    nodes = item.counts.get("nodes", 1)
    largest = max(lane.fabric.nodes.count for lane in meant)
    if nodes > largest:
        expected = f"at most {largest}, as the fabrics have"
        yield BadInput(f"{item.id}: {nodes} nodes", where=item.where("select.nodes"), expected=expected)


def _asked(site: _Site, fabric: Fabric) -> Asked:
    chosen = {lane_parts(lane)[0] for lane in site.chosen}
    pmi = {
        lane.stack.name: lane.pmi
        for lane in site.lanes()
        if lane.fabric == fabric and (not chosen or lane.stack.name in chosen) and lane.pmi is not None
    }
    return Asked(fabric=fabric.name, request=request_of(fabric), pmi=pmi)
