# SPDX-License-Identifier: Apache-2.0
"""Finds the problems of a site before a job is submitted: in its files, and in what they need of this cluster."""

import importlib.resources
import json
import os
import re
import socket
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from jsonschema import Draft7Validator

from fabricbench.attestation.ports import DEVICES
from fabricbench.errors import BadInput, nearest
from fabricbench.files.layout import REQUIREMENTS
from fabricbench.setup.system import (
    Lane,
    known_names,
    lanes_of,
    load_settings,
    request_of,
    settings_file,
    unknown_stack,
)
from fabricbench.site.lane import lane_pmi
from fabricbench.site.requirements import Requirement, Requirements, check_names
from fabricbench.site.requirements_file import load_requirements
from fabricbench.site.settings import SCHEDULERS, SLURM
from fabricbench.slurm.check import Demand, slurm_problems

State = Literal["broken", "warning", "not checked"]


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem in one line: what, where, and the hint. Only a ``broken`` site cannot be run."""

    state: State
    text: str


@dataclass(frozen=True, slots=True)
class _Site:
    """A loaded site. ``chosen`` lanes limit the check to their fabrics; without any, all are checked."""

    file: Path
    configuration: Mapping[str, Any]
    chosen: Collection[str]

    @property
    def system(self) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self.configuration["systems"][0]
        return found

    @property
    def stacks(self) -> dict[str, Mapping[str, Any]]:
        return {env["name"]: env["extras"] for env in self.configuration["environments"]}

    @property
    def fabrics(self) -> list[Mapping[str, Any]]:
        wanted = {lane.partition("@")[2] for lane in self.chosen}
        return [part for part in self.system["partitions"] if not wanted or part["name"] in wanted]

    def lanes(self) -> list[Lane]:
        return lanes_of(self.configuration, self.file)

    def broken(self, what: str, *, expected: str = "", hint: str = "") -> Problem:
        return self._problem("broken", what, expected, hint)

    def warning(self, what: str, *, expected: str = "", hint: str = "") -> Problem:
        return self._problem("warning", what, expected, hint)

    def unchecked(self, what: str) -> Problem:
        return self._problem("not checked", what, "", "")

    def _problem(self, state: State, what: str, expected: str, hint: str) -> Problem:
        return Problem(state, str(BadInput(what, where=str(self.file), expected=expected, hint=hint)))


def site_problems(system: str, chosen: Collection[str] = ()) -> list[Problem]:
    """The problems of the site of ``system``, and what could not be checked on this machine.

    ``chosen`` lanes limit the check to their fabrics. BadInput for an unknown site. Nothing is submitted.
    """
    file = settings_file(system)
    try:
        site = _Site(file, load_settings(file), chosen)
    except BadInput as error:
        unchecked = Problem("not checked", f"{file}: the rest of the file, because it does not load")
        return [Problem("broken", str(error)), unchecked, *_requirements(file, None)]
    found = [*_form(site), *_names(site)]
    if any(problem.state == "broken" for problem in found):
        return [*found, site.unchecked("what the fabrics need of the cluster, until the file is correct")]
    for part in site.fabrics:
        found += [*_start(site, part), *_modules(site, part), *_ports(site, part)]
    found += [*_lanes(site), *_requirements(file, site)]
    found += [
        Problem(state, str(BadInput(what, where=str(file), hint=hint)))
        for state, what, hint in slurm_problems([_demand(site, part) for part in site.fabrics])
    ]
    return found


def demand_sound(system: str, chosen: Collection[str] = ()) -> None:
    """BadInput with the first problem that prevents a run on the site. Nothing is submitted."""
    broken = [problem.text for problem in site_problems(system, chosen) if problem.state == "broken"]
    if broken:
        more = f" ({len(broken) - 1} more: fabricbench doctor --site --system {system})" if broken[1:] else ""
        raise BadInput(broken[0] + more)


def _form(site: _Site) -> Iterator[Problem]:
    """Check keys and types by ReFrame's schema. ReFrame itself supplies the top-level sections that a site omits."""
    schema = json.loads(importlib.resources.files("reframe").joinpath("schemas/config.json").read_text())
    for error in Draft7Validator(schema).iter_errors(site.configuration):
        if error.validator == "required" and not error.absolute_path:
            continue
        place = ".".join(map(str, error.absolute_path)) or "site_configuration"
        yield site.broken(f"{place}: {' '.join(error.message.split())[:200]}")


def _names(site: _Site) -> Iterator[Problem]:
    folder = site.file.parent.name
    if site.system["name"] != folder:
        what = f"the system is called '{site.system['name']}'"
        yield site.broken(what, expected=f"'{folder}', the name of its folder")
    environs = [(part["name"], name) for part in site.system["partitions"] for name in part["environs"]]
    for kind, names in (
        ("fabric", [part["name"] for part in site.system["partitions"]]),
        ("stack", [env["name"] for env in site.configuration["environments"]]),
    ):
        for name in _duplicates(names):
            yield site.broken(f"duplicate {kind} '{name}'", hint="remove one of them")
        for name in names:
            if not re.fullmatch(r"[A-Za-z_][\w-]*", name, re.ASCII):
                yield site.broken(f"the {kind} '{name[:40]}'", expected="letters, digits, '_' and '-' only")
    for fabric, name in _duplicates(environs):
        yield site.broken(f"fabric {fabric} names the stack '{name}' twice", hint="remove one of them")
    for fabric, name in dict.fromkeys(environs):
        if name not in site.stacks:
            yield Problem("broken", str(unknown_stack(site.file, fabric, name, site.stacks)))
    for name in sorted(site.stacks.keys() - {name for _, name in environs}):
        yield site.warning(f"no fabric names the stack '{name}'", hint="add it to a fabric's environs")


def _duplicates(names: list[Any]) -> list[Any]:
    return [name for name, count in Counter(names).items() if count > 1]


def _start(site: _Site, part: Mapping[str, Any]) -> Iterator[Problem]:
    """Check that scheduler, launcher and number of nodes are compatible."""
    facts = part["extras"]
    scheduler, launcher, name = facts["scheduler"], facts["launcher"], part["name"]
    if scheduler not in SCHEDULERS:
        what = f"fabric {name}: unknown scheduler '{scheduler}'"
        yield site.broken(what, expected=nearest(scheduler, SCHEDULERS))
    elif launcher == "srun" and scheduler not in (*SLURM, "local"):
        what = f"fabric {name}: the launcher srun is Slurm's, the scheduler is {scheduler}"
        yield site.broken(what, expected="mpirun")
    elif scheduler == "local" and facts["nodes"] > 1:
        what = f"fabric {name}: {facts['nodes']} nodes without a scheduler: only within an allocation of your own"
        yield site.warning(what, hint="name a scheduler")
    elif scheduler not in (*SLURM, "local"):
        yield site.unchecked(f"fabric {name}: queues and nodes of {scheduler}; only Slurm is queried")


def _modules(site: _Site, part: Mapping[str, Any]) -> Iterator[Problem]:
    """Check that the modules exist, by their files in MODULEPATH, without starting a module system."""
    modules, folders = part["modules"], os.environ.get("MODULEPATH", "").split(":")
    if modules and site.system["modules_system"] == "nomod":
        what = f"fabric {part['name']}: modules, but no modules_system to load them"
        yield site.broken(what, expected="modules_system='lmod', 'tmod4' or 'envmod' in configuration()")
    elif modules and not any(folders):
        yield site.unchecked(f"fabric {part['name']}: the modules {' '.join(modules)}; MODULEPATH is not set here")
    else:
        absent = [module for module in modules if not any(_is_module(Path(f), module) for f in folders if f)]
        for module in absent:
            what = f"fabric {part['name']}: no module '{module}' in MODULEPATH"
            if module == modules[0]:
                yield site.broken(what, hint="module avail lists them")
            else:
                yield site.unchecked(f"{what}; an earlier one may bring it")


def _is_module(folder: Path, module: str) -> bool:
    return (folder / module).exists() or (folder / f"{module}.lua").is_file()


def _ports(site: _Site, part: Mapping[str, Any]) -> Iterator[Problem]:
    facts, name = part["extras"], part["name"]
    between = facts["nodes"] > 1
    counted = between and facts["ports"]
    if facts["transport"] in DEVICES and not counted and facts["attestation"] == "required":
        why = "it names no ports" if between else "it has one node"
        what = f"fabric {name}: {why}, so that no launch on {facts['transport']} can be attested"
        yield site.warning(what, hint="name nodes and ports, or say attestation='optional'")
    absent = [port for port in facts["ports"] if not _is_port(port)]
    if absent and facts["scheduler"] == "local":
        what = f"fabric {name}: this node has no port {', '.join(absent)}"
        yield site.warning(what, hint="ip link and ls /sys/class/infiniband name them")
    elif absent:
        yield site.unchecked(
            f"fabric {name}: the port {', '.join(absent)} is not on this node, which may be no node of it"
        )


def _is_port(port: str) -> bool:
    """Whether this node has the port: an interface such as ``eth0``, or an adapter's port such as ``mlx5_0:1``."""
    adapter, colon, number = port.partition(":")
    if colon:
        return Path("/sys/class/infiniband", adapter, "ports", number).is_dir()
    return port in (name for _, name in socket.if_nameindex()) or Path("/sys/class/cxi", port).exists()


def _lanes(site: _Site) -> Iterator[Problem]:
    """Name the lanes that will be skipped; a reason is reported for the first of its lanes only."""
    reported: set[str] = set()
    for lane in site.lanes():
        if lane.missing and (not site.chosen or lane.name in site.chosen) and lane.missing not in reported:
            reported.add(lane.missing)
            yield site.warning(f"{lane.name} will be skipped: {lane.missing}", hint=lane.hint)


def _requirements(file: Path, site: _Site | None) -> Iterator[Problem]:
    """Check each requirement by itself; where the site does not load, only the form of the file."""
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
    lanes = site.lanes()
    known = known_names(lanes)
    most = {part["name"]: part["extras"]["nodes"] for part in site.system["partitions"]}
    for item in items:
        wrong = list(_unknown_names(item, known)) or list(_unmeasured(item, lanes, most))
        yield from (Problem("broken", str(error)) for error in wrong)


def _unknown_names(item: Requirement, known: Mapping[str, Collection[str]]) -> Iterator[BadInput]:
    for kind, names in known.items():
        try:
            check_names(Requirements(item.path, (item,)), {kind: names})
        except BadInput as error:
            yield error


def _unmeasured(item: Requirement, lanes: list[Lane], most: Mapping[str, int]) -> Iterator[BadInput]:
    """Check that a lane of the site matches what the requirement selects."""
    stacks, fabrics = item.many.get("stack"), item.many.get("fabric")
    chosen = [x for x in lanes if (stacks is None or x.stack in stacks) and (fabrics is None or x.fabric in fabrics)]
    if not chosen:
        selection = f"{' or '.join(stacks or ())}@{' or '.join(fabrics or ())}"
        expected = nearest(selection, [lane.name for lane in lanes])
        yield BadInput(f"{item.id}: there is no lane {selection}", where=item.where("select"), expected=expected)
        return
    nodes = item.counts.get("nodes", 1)
    largest = max(most[lane.fabric] for lane in chosen)
    if nodes > largest:
        expected = f"at most {largest}, as the fabrics have"
        yield BadInput(f"{item.id}: {nodes} nodes", where=item.where("select.nodes"), expected=expected)


def _demand(site: _Site, part: Mapping[str, Any]) -> Demand:
    facts = part["extras"]
    chosen = {lane.partition("@")[0] for lane in site.chosen}
    return Demand(
        fabric=part["name"],
        request=request_of(facts),
        pmi={
            name: pmi
            for name in part["environs"]
            if (not chosen or name in chosen) and (pmi := lane_pmi(facts, site.stacks[name])) is not None
        },
    )
