# SPDX-License-Identifier: Apache-2.0
"""Finds or installs the benchmarks of user-level libraries, and reads their versions."""

import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from fabricbench.errors import BadInput
from fabricbench.processes.external_programs import apt_install, is_root_on_debian
from fabricbench.setup.record import Say
from fabricbench.site.stacks import Stack

LIMIT_SECONDS = 10
_VERSION = re.compile(r"\d+(?:\.\d+)+\S*")


def find_programs(stack: Stack, log: Path, say: Say) -> tuple[dict[str, str], str]:
    """Paths of the stack's programs by name, and their versions as text; raises BadInput if none is on PATH.

    As root on Debian, missing programs are installed. Benchmarks whose program is still missing are skipped.
    """
    packages, files = (stack.debian.packages, stack.debian.files) if stack.debian else ((), ())
    complete = all(map(shutil.which, stack.programs)) and all(Path(file).exists() for file in files)
    if packages and not complete and is_root_on_debian():
        say(f"installing Debian's {' '.join(packages)}")
        apt_install(packages, log)
    paths = {name: path for name in stack.programs if (path := shutil.which(name))}
    if not paths:
        raise BadInput(
            f"none of {', '.join(stack.programs)} is on PATH",
            hint=f"install them, on Debian: apt-get install {' '.join(packages)}",
        )
    commands = dict.fromkeys(stack.programs[name] for name in paths)
    return paths, ", ".join(f"{command[0]} {version(command)}" for command in commands)


def version(command: Sequence[str]) -> str:
    """The first version number in the output of ``command``; "unknown" if there is none."""
    try:
        process = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace",
            timeout=LIMIT_SECONDS, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return "unknown"
    match = _VERSION.search(process.stdout) or _VERSION.search(process.stderr)
    return match.group() if match else "unknown"
