# SPDX-License-Identifier: Apache-2.0
"""Writes ``env.sh``, which puts ``reframe`` and ``fabricbench`` on PATH."""

import shlex
import sys
from pathlib import Path

from fabricbench.site.settings import BUILD, REPOSITORY, SITES, site_root


def write_environment(root: Path) -> Path:
    """Writes ``root/env.sh``, to be sourced, and ``root/bin/reframe``, which it puts on PATH. Returns its path.

    A build directory and a directory of systems other than the defaults are exported too, unless the shell that sources
    the file has set its own.
    """
    programs = root / "bin"
    programs.mkdir(exist_ok=True)
    reframe = programs / "reframe"
    reframe.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m fabricbench.runner.reframe "$@"\n')
    reframe.chmod(0o755)
    sites = site_root()
    path = f"{programs}:{Path(sys.executable).parent}"
    file = root / "env.sh"
    lines = [
        "# Written by fabricbench setup. Source it.",
        f'export PATH={shlex.quote(path)}:"$PATH"',
        *_export(BUILD, root, REPOSITORY / "build"),
        *_export(SITES, sites, REPOSITORY / "site"),
        f'[ -n "${{{SITES}:-}}" ] && _sites=${SITES} || _sites={shlex.quote(str(sites))}',
        'RFM_CONFIG_FILES=$(printf "%s:" "$_sites"/[!_]*/settings.py)',  # a system added later is included
        'export RFM_CONFIG_FILES="${RFM_CONFIG_FILES%:}"',
        'export RFM_SYSTEM="${RFM_SYSTEM:-local}"',
        "unset _sites",
    ]
    file.write_text("".join(f"{line}\n" for line in lines))
    return file


_RECORDS = {BUILD: "FABRICBENCH_ENV_BUILD", SITES: "FABRICBENCH_ENV_SITES"}


def _export(name: str, value: Path, default: Path) -> list[str]:
    """The lines that set a variable, except where a user has set it; a default unsets it.

    A second variable records the value of the last ``env.sh``: the value of a user is one that differs from it.
    """
    record = _RECORDS[name]
    if value == default:
        action = f"unset {name}; unset {record}"
    else:
        action = f"export {name}={shlex.quote(str(value))} {record}={shlex.quote(str(value))}"
    return [f'if [ -z "${{{name}:-}}" ] || [ "${name}" = "${{{record}:-}}" ]; then {action}; fi']
