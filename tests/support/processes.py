# SPDX-License-Identifier: Apache-2.0
"""Finds processes in ``/proc`` without the code under test, and waits for conditions with a limit."""

import os
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from fabricbench.campaign.cache import CACHE

LOCK = "FABRICBENCH_LOCK"


def clean_environment() -> dict[str, str]:
    """Returns the environment of this process without the variables that choose a system, a site or a campaign.

    The tests' own cache and lock remain.
    """
    variables = {key for key in os.environ if key.startswith(("RFM_", "FABRICBENCH_"))} - {CACHE, LOCK}
    return {key: value for key, value in os.environ.items() if key not in variables}


def marked(mark: str) -> list[int]:
    """Returns the ids of the processes with ``mark`` (``NAME=value``) in their environment. Zombies have none."""
    ids = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and mark.encode() in (entry / "environ").read_bytes().split(b"\0"):
                ids.append(int(entry.name))
        except OSError:
            continue
    return sorted(ids)


def parent(pid: int) -> int | None:
    """Returns the id of the parent; None if the process does not exist."""
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return None


def alive(pid: int) -> bool:
    """Returns whether the process exists and is not a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def shell_program(folder: Path, name: str, text: str = "") -> str:
    """Writes a program for the shell and returns its path."""
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


def program(pid: int) -> str:
    """Returns the name of the executable; empty if the process does not exist."""
    try:
        return Path(os.readlink(f"/proc/{pid}/exe")).name
    except OSError:
        return ""


def wait_until(condition: Callable[[], object], what: str, seconds: float = 240.0) -> None:
    """Waits until ``condition()`` is true; fails after ``seconds``, a limit that suits a machine under load."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"waited in vain: {what}"
        time.sleep(0.02)


def no_namespaces(*programs: str) -> str:
    """Returns why these programs cannot run as root in their own namespaces; empty if they can."""
    if os.geteuid() != 0:
        return "needs root, for namespaces"
    absent = [name for name in programs if shutil.which(name) is None]
    if absent:
        return f"needs {', '.join(absent)}: fabricbench setup --for-tests, as root on Debian"
    result = subprocess.run(
        ["unshare", "--net", "--pid", "--fork", "--mount-proc", "true"], capture_output=True, timeout=30, check=False
    )
    return "" if result.returncode == 0 else "needs namespaces"
