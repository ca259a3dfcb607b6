# SPDX-License-Identifier: Apache-2.0
"""A system as its site declares it: which lanes there are, and what each needs."""

import importlib.util
import os
import traceback
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fabricbench.errors import BadInput, nearest
from fabricbench.files.layout import REQUIREMENTS
from fabricbench.parsers.registry import TOOLS, benchmarks
from fabricbench.site.lane import lane_name, lane_pmi, lane_variables
from fabricbench.site.requirements_file import load_requirements
from fabricbench.site.settings import REPOSITORY, SLURM
from fabricbench.site.stacks import Installed, handshake_at
from fabricbench.slurm.allocation import Request

SITES = "FABRICBENCH_SITES"


@dataclass(frozen=True, slots=True)
class Lane:
    """A stack on a fabric. ``missing`` says why it cannot run here, ``hint`` what helps."""

    stack: str
    fabric: str
    transport: str
    installed: Installed | None
    variables: dict[str, str]
    missing: str
    hint: str
    handshake: tuple[str, ...] = ()
    """Of a user-level library: what ``fabricbench-pair`` is to do for two processes that only meet."""
    nodes: int = 1
    pmi: str | None = None
    """What ``srun --mpi`` is to take; None where the stack's own launcher starts the ranks."""
    request: Request | None = None
    """What a block must ask of Slurm; None where the lane needs no allocation."""

    @property
    def name(self) -> str:
        """As users write it."""
        return lane_name(self.stack, self.fabric)


def site_root() -> Path:
    """Where the systems are: ``site/``, or ``FABRICBENCH_SITES``."""
    return Path(os.environ.get(SITES) or REPOSITORY / "site").resolve()


def systems() -> list[str]:
    """Names of the systems there are."""
    return sorted(
        path.parent.name for path in site_root().glob("*/settings.py") if not path.parent.name.startswith("_")
    )


def settings_file(system: str) -> Path:
    """The ``settings.py`` of ``system``; BadInput with the nearest names."""
    if system not in systems():
        raise BadInput(f"unknown system '{system}'", expected=nearest(system, systems()))
    return site_root() / system / "settings.py"


def lanes(system: str) -> list[Lane]:
    """Every lane of ``system``, in the order of its settings."""
    file = settings_file(system)
    return lanes_of(load_settings(file), file)


def lanes_of(configuration: Mapping[str, Any], file: Path) -> list[Lane]:
    """Every lane of the settings in ``file``."""
    environments = {env["name"]: env["extras"] for env in configuration["environments"]}
    found = []
    for partition in configuration["systems"][0]["partitions"]:
        for name in partition["environs"]:
            if name not in environments:
                raise unknown_stack(file, partition["name"], name, environments)
            found.append(_lane(environments[name], partition["extras"]))
    return found


def unknown_stack(file: Path, fabric: str, name: str, known: Iterable[str]) -> BadInput:
    """A fabric names a stack that its settings do not declare."""
    return BadInput(f"fabric {fabric} names the stack '{name}'", where=str(file), expected=nearest(name, known))


def check_requirements(system: str) -> int | None:
    """How many requirements the site has, every name in them checked; None where there is no file."""
    file = settings_file(system).with_name(REQUIREMENTS)
    return len(load_requirements(file, known_names(lanes(system))).items) if file.exists() else None


def known_names(found: Iterable[Lane]) -> dict[str, set[str]]:
    """What requirements may name, by kind: the stacks and fabrics of these lanes, every tool and benchmark."""
    found = list(found)
    return {
        "stack": {lane.stack for lane in found},
        "fabric": {lane.fabric for lane in found},
        "tool": set(TOOLS),
        "benchmark": benchmarks(),
    }


def choose(available: Iterable[Lane], wanted: Iterable[str]) -> list[Lane]:
    """The lanes called ``wanted``, or all; BadInput with the nearest names for one that is unknown."""
    known = {lane.name: lane for lane in available}
    chosen = []
    for name in wanted:
        if name not in known:
            raise BadInput(f"unknown lane '{name}'", expected=nearest(name, known))
        chosen.append(known[name])
    return chosen or list(known.values())


def load_settings(file: Path) -> dict[str, Any]:
    """``site_configuration`` of a settings file; BadInput with the file and line where it is broken."""
    spec = importlib.util.spec_from_file_location(f"fabricbench_settings_{file.parent.name}", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
        configuration: dict[str, Any] = module.site_configuration
    except BadInput:
        raise
    except SyntaxError as error:
        raise BadInput(f"{error.msg}", where=f"{file}:{error.lineno}", expected="Python") from None
    except (Exception, SystemExit) as error:
        frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == str(file)]
        line = f":{frames[-1].lineno}" if frames else ""
        raise BadInput(f"{type(error).__name__}: {error}", where=f"{file}{line}") from None
    _demand_made(configuration, file)
    return configuration


def _demand_made(configuration: Any, file: Path) -> None:
    """The settings are what ``site.settings`` makes, whose facts everything else reads."""
    try:
        (system,) = configuration["systems"]
        made = [("fabric", part) for part in system["partitions"]]
        made += [("stack", env) for env in configuration["environments"]]
        wrong = [(kind, item["name"]) for kind, item in made if item.get("extras", {}).get(kind) != item["name"]]
    except (TypeError, KeyError, ValueError, AttributeError):
        expected = "what configuration() of fabricbench.site.settings makes"
        raise BadInput("site_configuration is wrong", where=str(file), expected=expected) from None
    for kind, name in wrong:
        raise BadInput(f"the {kind} '{name}' is not what {kind}() makes", where=str(file), hint=f"make it by {kind}()")


def _lane(stack: dict[str, Any], fabric: dict[str, Any]) -> Lane:
    transport = fabric["transport"]
    installed = Installed.model_validate(stack["installed"]) if stack["installed"] else None
    missing, hint = stack["without"].get(transport) or (stack["missing"], stack["hint"])
    return Lane(
        stack=stack["stack"],
        fabric=fabric["fabric"],
        transport=transport,
        installed=installed,
        variables=lane_variables(fabric, stack),
        missing=missing,
        hint=hint,
        handshake=tuple(handshake_at(stack["handshake"] or (), fabric["addresses"][0])),
        nodes=fabric["nodes"],
        pmi=lane_pmi(fabric, stack),
        request=request_of(fabric),
    )


def request_of(fabric: Mapping[str, Any]) -> Request | None:
    """What a block on a fabric must ask of Slurm; None where nothing."""
    if fabric["scheduler"] not in SLURM:
        return None
    cores = None if fabric["exclusive"] else fabric["cores"]
    return Request(tuple(fabric["access"]), fabric["nodes"], fabric["minutes"], fabric["exclusive"], cores)
