# SPDX-License-Identifier: Apache-2.0
"""Chooses what the NAS kernels of a stack are built for, and finds the instructions that the compiler then uses."""

import os
import re
import shutil
import subprocess
from pathlib import Path

from fabricbench.errors import BadInput, nearest
from fabricbench.site.targets import LEVELS, MACROS, NATIVE, Target, processor_flags

FILE = "target"
"""File of a stack with the name of its last chosen target; it outlives ``stack.json``."""
OPTION = "--target"
LIMIT_SECONDS = 60
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]{0,63}", re.ASCII)
_MACRO = re.compile(r"^#define (\w+) ", re.MULTILINE)
_ACCEPTED = re.compile(r"valid (?:arguments|target CPU values)[^:]*: *(.*)")


def chosen_target(name: str) -> Target:
    """Returns the target with this value of ``-march``.

    Raises BadInput if the C compiler does not accept it, or if there is no compiler to ask, unless it is ``native``.
    """
    if not _NAME.fullmatch(name):
        raise BadInput(f"'{name[:64]}'", where=OPTION, expected=f"{NATIVE}, {', '.join(LEVELS)} or a name of -march")
    compiler = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        if name == NATIVE:
            return Target(name=name)
        raise BadInput(f"no C compiler that knows '{name}'", where=OPTION, hint="install gcc")
    used = _instructions(compiler, name)
    if name == NATIVE:  # this machine has all that the compiler found on it
        used &= processor_flags()
    return Target(name=name, instructions=tuple(sorted(used)))


def _instructions(compiler: str, name: str) -> set[str]:
    """Returns the instruction sets that the compiler uses; raises BadInput if it does not accept the name."""
    argv = [*compiler.split(), f"-march={name}", "-dM", "-E", "-x", "c", os.devnull]
    try:
        outcome = subprocess.run(
            argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=LIMIT_SECONDS,
            env={**os.environ, "LC_ALL": "C"}, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BadInput(f"{argv[0]} cannot be started: {error}", where=OPTION) from None
    if outcome.returncode:
        accepted = _ACCEPTED.search(outcome.stderr)
        names = re.split(r"[ ,;]+", accepted[1].partition(";")[0]) if accepted else list(LEVELS)
        what = f"{Path(argv[0]).name} does not know the processor '{name}'"
        raise BadInput(what, where=OPTION, expected=nearest(name, filter(None, [NATIVE, *names])))
    defined = set(_MACRO.findall(outcome.stdout))
    return {flag for macro, flag in MACROS.items() if macro in defined}


def last_target(home: Path) -> str:
    """Returns the name of the target that was last chosen for the stack in ``home``; ``native`` if there is none."""
    try:
        name = (home / FILE).read_text().strip()
    except OSError:
        return NATIVE
    return name if _NAME.fullmatch(name) else NATIVE


def remember_target(home: Path, name: str) -> None:
    """Writes the name of the target that is chosen for the stack in ``home``."""
    home.mkdir(parents=True, exist_ok=True)
    (home / FILE).write_text(f"{name}\n")
