# SPDX-License-Identifier: Apache-2.0
"""Finds the sites and the build, loads the ``settings.py`` of a system, lists its lanes."""

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from fabricbench.errors import BadInput, nearest
from fabricbench.site.execute import execute
from fabricbench.site.lane import Lane
from fabricbench.site.stacks import STACK_FILE, read_installed
from fabricbench.site.system import System, system_in

REPOSITORY = Path(__file__).resolve().parents[3]
"""The root of the checkout that contains this package."""

BUILD = "FABRICBENCH_BUILD"
SITES = "FABRICBENCH_SITES"
_UNSAFE = re.compile(r"[^\w@%+=,./~-]")


def build_root() -> Path:
    """Returns the directory of the stacks and of the programs built on them: ``build/``, or ``FABRICBENCH_BUILD``."""
    return Path(os.environ.get(BUILD) or REPOSITORY / "build").resolve()


def site_root() -> Path:
    """Returns the directory of the systems: ``site/``, or ``FABRICBENCH_SITES``."""
    return Path(os.environ.get(SITES) or REPOSITORY / "site").resolve()


def no_blanks(path: Path, what: str = "a campaign's path") -> None:
    """Raises BadInput if a path has a blank, a quote or another character that is special to a shell.

    ReFrame writes paths into job scripts unquoted.
    """
    if unsafe := _UNSAFE.search(str(path)):
        problem = f"blanks in {what}" if unsafe[0].isspace() else f"the character {unsafe[0]!r} in {what}"
        raise BadInput(problem, where=repr(str(path)), expected="a path without blanks, quotes and special characters")


def systems() -> list[str]:
    """Returns the names of all systems."""
    return sorted(
        path.parent.name for path in site_root().glob("*/settings.py") if not path.parent.name.startswith("_")
    )


def settings_file(system: str) -> Path:
    """Returns the ``settings.py`` of a system; raises BadInput with the nearest names if there is no such system."""
    if system not in systems():
        raise BadInput(f"unknown system '{system}'", expected=nearest(system, systems()))
    return site_root() / system / "settings.py"


@dataclass(frozen=True, slots=True)
class Settings:
    """The two names that a ``settings.py`` defines: ``SYSTEM``, and ``site_configuration`` for ReFrame."""

    system: System
    configuration: Mapping[str, object]


def load_settings(file: Path) -> Settings:
    """Executes a ``settings.py``, once per process; raises BadInput with the file and line if it is wrong."""
    names = execute(file)
    system, configuration = names.get("SYSTEM"), names.get("site_configuration")
    if not isinstance(system, System):
        expected = "SYSTEM = System(…) of fabricbench.site.system"
        raise BadInput("SYSTEM is missing or wrong", where=str(file), expected=expected)
    if not isinstance(configuration, dict) or not _describes(configuration, system):
        expected = "site_configuration = reframe_configuration(SYSTEM)"
        raise BadInput("site_configuration is missing or wrong", where=str(file), expected=expected)
    return Settings(system, configuration)


def _describes(configuration: Mapping[str, object], system: System) -> bool:
    """Whether ReFrame's configuration has this system alone, and every partition and environment carries it."""
    described, environments = configuration.get("systems"), configuration.get("environments")
    if not isinstance(described, list) or len(described) != 1 or not isinstance(environments, list):
        return False
    partitions = described[0].get("partitions") if isinstance(described[0], dict) else None
    if not isinstance(partitions, list):
        return False
    parts = [*partitions, *environments]
    return all(isinstance(part, dict) and system_in(part.get("extras") or {}) is system for part in parts)


def load_system(name: str) -> System:
    """Returns a system as its ``settings.py`` declares it; raises BadInput if that is missing or wrong."""
    return load_settings(settings_file(name)).system


def lanes(system: str) -> list[Lane]:
    """Returns every lane of a system, in the order of its settings."""
    return lanes_of(load_system(system))


def lanes_of(system: System) -> list[Lane]:
    """Returns every lane of ``system``, each with its stack as it is installed now."""
    return [
        Lane(fabric, stack, read_installed(build_root() / "stacks" / stack.name / STACK_FILE), variant)
        for fabric, stack in system.pairings()
        for variant in ("", *(fabric.variants if stack.level == "mpi" else ()))
    ]


def choose(available: Iterable[Lane], names: Iterable[str]) -> list[Lane]:
    """Returns the lanes with these names, or all if there are no names; raises BadInput for an unknown name."""
    by_name = {lane.name: lane for lane in available}
    selection = []
    for name in names:
        if name not in by_name:
            raise BadInput(f"unknown lane '{name}'", expected=nearest(name, by_name))
        selection.append(by_name[name])
    return selection or list(by_name.values())
