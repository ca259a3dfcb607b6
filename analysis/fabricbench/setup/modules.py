# SPDX-License-Identifier: Apache-2.0
"""Loads environment modules by the shell function ``module``, and reads what they change in the environment.

Lmod and Environment Modules define that function in the start files of a login shell. Names of modules reach the shell
as arguments, never as text to be executed.
"""

import os
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from fabricbench.errors import BadInput
from fabricbench.launch.facts import MPI_VARIABLES
from fabricbench.site.modules import NAME, Modules

OPTION = "--module"
LIMIT_SECONDS = 60
_NO_MODULES, _NOT_LOADED = 91, 92
_SCRIPT = f"""
folder=$1 path=$2; shift 2
if [ -n "$path" ]; then export MODULEPATH="$path${{MODULEPATH:+:$MODULEPATH}}"; fi
type module >/dev/null 2>&1 || exit {_NO_MODULES}
module unload "$@" >/dev/null 2>&1
env -0 >"$folder/before"
module load "$@" >/dev/null 2>"$folder/errors" || exit {_NOT_LOADED}
env -0 >"$folder/after"
"""
"""Unloads the modules first, so that the two environments differ also if the user's shell has loaded the modules."""
_OF_THE_SHELL = ("_", "SHLVL", "PWD", "OLDPWD")
_OF_THE_SYSTEM = ("_", "LMOD_", "LOADEDMODULES", "MODULEPATH", "MODULES_")
"""Prefixes of the variables in which module systems keep their state."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """Modules that could be loaded, and the environment ``before`` and ``after`` that."""

    modules: Modules
    before: Mapping[str, str]
    after: Mapping[str, str]

    @property
    def folders(self) -> tuple[Path, ...]:
        """The directories that the modules add to PATH, in its order."""
        before = self.before.get("PATH", "").split(":")
        return tuple(Path(folder) for folder in self.after.get("PATH", "").split(":") if folder not in before)

    def changes(self, environment: Mapping[str, str]) -> dict[str, str]:
        """Returns the variables that the modules change, with their values for a process of this ``environment``.

        Directories that the modules add to a variable with several are put in front of those of ``environment``.
        """
        changed = {}
        for name, value in self.after.items():
            earlier = self.before.get(name)
            if earlier == value or name in _OF_THE_SHELL:
                continue
            parts, own = value.split(":"), environment.get(name)
            if earlier and set(earlier.split(":")) < set(parts):
                added = [part for part in parts if part not in earlier.split(":")]
                value = ":".join([*added, *([own] if own else [])])
            changed[name] = value
        return changed

    @property
    def effects(self) -> dict[str, str]:
        """The changes without the state of the module system and the user's own directories."""
        changes = sorted(self.changes({}).items())
        return {name: value for name, value in changes if not name.startswith(_OF_THE_SYSTEM)}


def module_names(text: str) -> tuple[str, ...]:
    """Returns the names in ``NAME[,NAME]``; raises BadInput for a text that is no name of a module."""
    names = tuple(name.strip() for name in text.split(","))
    for name in names:
        if not NAME.fullmatch(name):
            expected = "NAME[,NAME], each with letters, digits and ._+@=/-"
            raise BadInput(f"'{name[:60]}'", where=OPTION, expected=expected)
    return names


@cache
def load(names: tuple[str, ...], path: str = "") -> Loaded:
    """Loads modules in a login shell, once in a process; raises BadInput if they cannot be loaded.

    ``path``: directories in front of those of MODULEPATH.
    """
    before, after, errors = _environments(names, path)
    full = tuple(_full_name(name, after.get("LOADEDMODULES", "").split(":"), errors) for name in names)
    start = Path(after.get("MODULESHOME", ""), "init/bash")
    if not start.is_file():
        what = f"the module system has no start file for bash in MODULESHOME ({start})"
        raise BadInput(what, where=OPTION, expected="Lmod or Environment Modules")
    folders = ":".join(dict.fromkeys(filter(None, after.get("MODULEPATH", "").split(":"))))
    loaded = Loaded(Modules(names=full, start=str(start), path=folders), before, after)
    variables = {name: value for name, value in loaded.effects.items() if name.startswith(MPI_VARIABLES)}
    return replace(loaded, modules=loaded.modules.model_copy(update={"variables": variables}))


def _environments(names: tuple[str, ...], path: str) -> tuple[dict[str, str], dict[str, str], str]:
    """Returns the environment before and after the modules are loaded, and the messages of the module system."""
    with tempfile.TemporaryDirectory() as folder:
        argv = ["bash", "-lc", _SCRIPT, "bash", folder, path, *names]
        try:
            outcome = subprocess.run(
                argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                timeout=LIMIT_SECONDS, check=False,
            )  # fmt: skip
        except OSError as error:
            raise BadInput(f"bash cannot be started: {error.strerror}", where=OPTION) from None
        except subprocess.TimeoutExpired:
            what = f"the module system did not answer within {LIMIT_SECONDS} s"
            raise BadInput(what, where=OPTION) from None
        if outcome.returncode == _NO_MODULES:
            what = "a login shell of bash has no command 'module'"
            raise BadInput(what, where=OPTION, hint="install Lmod or Environment Modules, or use --prefix DIRECTORY")
        before, after = _environment(Path(folder, "before")), _environment(Path(folder, "after"))
        errors = _text(Path(folder, "errors"))
    if outcome.returncode or not after:
        raise _not_loaded(names, errors or f"exit status {outcome.returncode}")
    return before, after, errors


def module_environment(modules: Modules | None) -> dict[str, str]:
    """Returns the variables that modules change, for a process with the environment of this one; none for None."""
    return load(modules.names, modules.path).changes(os.environ) if modules else {}


def _environment(file: Path) -> dict[str, str]:
    """The variables in the output of ``env -0``; empty if the file does not exist."""
    pairs = (entry.partition("=") for entry in _content(file).split("\0") if "=" in entry)
    return {name: value for name, _, value in pairs}


def _content(file: Path) -> str:
    return file.read_bytes().decode(errors="replace") if file.exists() else ""


def _text(file: Path) -> str:
    return " | ".join(" ".join(line.split()) for line in _content(file).splitlines() if line.strip())[:300]


def _full_name(name: str, loaded: list[str], errors: str) -> str:
    """The name of a module with its version, as the module system lists it."""
    for full in reversed(loaded):
        if full == name or full.startswith(f"{name}/"):
            return full
    if errors or not any(loaded):
        raise _not_loaded((name,), errors or "it is not among the loaded modules")
    raise BadInput(f"{name} loads other modules: {' '.join(loaded)}", where=OPTION, hint="name these modules")


def _not_loaded(names: tuple[str, ...], reason: str) -> BadInput:
    what = f"cannot load {' '.join(names)}: {reason}"
    return BadInput(what, where=OPTION, hint="module avail lists the modules")
