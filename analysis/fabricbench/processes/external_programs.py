# SPDX-License-Identifier: Apache-2.0
"""Runs other programs, never through a shell, and keeps their output in a log."""

import os
import shutil
import subprocess
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

from fabricbench.errors import BadInput
from fabricbench.files.reading import last_lines


def run_logged(
    argv: Sequence[str],
    log: Path,
    *,
    what: str,
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
) -> None:
    """Runs ``argv`` in ``folder`` and appends its output to ``log``; raises BadInput with the log's last lines if it
    fails.

    ``environment`` is added to that of this process; ``what`` names the step in the error. ``folder``: by default the
    current one.
    """
    with log.open("ab") as stream:
        stream.write(f"$ {' '.join(argv)}\n".encode())
        stream.flush()
        try:
            outcome = subprocess.run(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=subprocess.STDOUT,
                env={**os.environ, **(environment or {})},
                cwd=folder,
                check=False,
            )
        except OSError as error:
            raise BadInput(f"{what}: {argv[0]}: {error.strerror}") from None
    if outcome.returncode:
        raise BadInput(f"{what} failed: {last_lines(log)}", where=str(log))


def is_root_on_debian() -> bool:
    """Whether this process may install Debian packages."""
    return os.geteuid() == 0 and Path("/etc/debian_version").exists() and shutil.which("apt-get") is not None


_apt_lock = threading.Lock()
_apt_is_fresh = False


def apt_install(packages: Sequence[str], log: Path) -> None:
    """Installs Debian packages as root, without questions. Updates the package lists once in a process."""
    global _apt_is_fresh
    quiet = {"DEBIAN_FRONTEND": "noninteractive"}
    with _apt_lock:
        if not _apt_is_fresh:
            run_logged(["apt-get", "update", "-qq"], log, what="apt-get update", environment=quiet)
            _apt_is_fresh = True
        argv = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", *packages]
        run_logged(argv, log, what=f"installing {' '.join(packages)}", environment=quiet)
