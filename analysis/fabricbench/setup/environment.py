# SPDX-License-Identifier: Apache-2.0
"""Writes ``env.sh``, which puts ``reframe`` and ``fabricbench`` on PATH."""

import shlex
import sys
from pathlib import Path

from fabricbench.site.settings import REPOSITORY, site_root


def write_environment(root: Path) -> Path:
    """Writes ``root/env.sh``, to be sourced, and ``root/bin/reframe``, which it puts on PATH. Returns its path.

    A build directory other than the default is exported too, unless the shell that sources the file has set its own.
    """
    programs = root / "bin"
    programs.mkdir(exist_ok=True)
    reframe = programs / "reframe"
    reframe.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m fabricbench.runner.reframe "$@"\n')
    reframe.chmod(0o755)
    settings = f"{shlex.quote(str(site_root()))}/[!_]*/settings.py"
    path = f"{programs}:{Path(sys.executable).parent}"
    file = root / "env.sh"
    lines = [
        "# Written by fabricbench setup. Source it.",
        f'export PATH={shlex.quote(path)}:"$PATH"',
        f'RFM_CONFIG_FILES=$(printf "%s:" {settings})',  # at each sourcing: a site added later is included
        'export RFM_CONFIG_FILES="${RFM_CONFIG_FILES%:}"',
        'export RFM_SYSTEM="${RFM_SYSTEM:-local}"',
    ]
    if root != REPOSITORY / "build":
        lines.append(f'[ -n "${{FABRICBENCH_BUILD:-}}" ] || FABRICBENCH_BUILD={shlex.quote(str(root))}')
        lines.append("export FABRICBENCH_BUILD")
    file.write_text("".join(f"{line}\n" for line in lines))
    return file
