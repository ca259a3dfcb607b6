# SPDX-License-Identifier: Apache-2.0
"""User-level libraries on this machine: their benchmarks, found on PATH or installed, and their versions."""

import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

from fabricbench.errors import BadInput
from fabricbench.processes.commands import apt_install, is_root_on_debian
from fabricbench.site.stacks import Stack

LIMIT_SECONDS = 10
_VERSION = re.compile(r"\d+(?:\.\d+)+\S*")


def find_programs(stack: Stack, log: Path, say: Callable[[str], None]) -> tuple[dict[str, str], str]:
    """Paths of the programs that are there, by name, and their versions in words; BadInput where there is none.

    Where one is missing and may be installed, it is. Programs that stay missing become named skips.
    """
    packages, files = (stack.debian.packages, stack.debian.files) if stack.debian else ((), ())
    there = all(map(shutil.which, stack.programs)) and all(Path(file).exists() for file in files)
    if packages and not there and is_root_on_debian():
        say(f"installing Debian's {' '.join(packages)}")
        apt_install(packages, log)
    found = {name: path for name in stack.programs if (path := shutil.which(name))}
    if not found:
        raise BadInput(
            f"none of {', '.join(stack.programs)} is on PATH",
            hint=f"install them, on Debian: apt-get install {' '.join(packages)}",
        )
    asked = dict.fromkeys(stack.programs[name] for name in found)
    return found, ", ".join(f"{command[0]} {version(command)}" for command in asked)


def version(command: Sequence[str]) -> str:
    """The first word that looks like a version in what ``command`` prints; "unknown" where there is none."""
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace",
            timeout=LIMIT_SECONDS, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return "unknown"
    seen = _VERSION.search(done.stdout) or _VERSION.search(done.stderr)
    return seen.group() if seen else "unknown"
