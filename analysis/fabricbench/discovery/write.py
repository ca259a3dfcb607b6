# SPDX-License-Identifier: Apache-2.0
"""Writes the folder of a new site: its settings, its requirements, its page, and the stacks that Spack builds."""

import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

from fabricbench.discovery.fabrics import Draft
from fabricbench.discovery.settings_text import comments, one_line, settings_text
from fabricbench.discovery.survey import Machine
from fabricbench.errors import BadInput
from fabricbench.files.layout import REQUIREMENTS
from fabricbench.site.settings import REPOSITORY, site_root
from fabricbench.site.spack import ENVIRONMENT, SITE_STACKS, read_environment

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
_SPDX = "# SPDX-License-Identifier: Apache-2.0"
OVER_THE_RATE = 1.1
"""A message of 4 MiB may exceed the rate of the link by this factor: buffers at both ends take its last part early."""
MB_S_PER_GBIT_S = 125


def demand_new(name: str) -> Path:
    """Returns the folder of a new site; raises BadInput if the name cannot be a system's or the folder exists."""
    if not _NAME.fullmatch(name):
        expected = "a letter, then letters, digits, '_' and '-', at most 64 in all"
        raise BadInput(f"the name '{name[:80]}'", expected=expected)
    folder = site_root() / name
    if folder.exists() or folder.is_symlink():
        raise BadInput("it exists, and no file of it is replaced", where=str(folder), hint="choose another name")
    return folder


def write_site(name: str, machine: Machine, day: str) -> list[Path]:
    """Writes the files of the site and returns their paths. Raises BadInput, and leaves nothing, if one cannot be.

    ``day`` is the date of the survey.
    """
    folder = demand_new(name)
    texts = {
        "settings.py": settings_text(name, machine, day),
        REQUIREMENTS: _requirements_text(machine),
        "README.md": _page_text(name, machine, day),
    }
    if spack := _spack_text(machine):
        texts[f"spack/{SITE_STACKS}"] = spack
    try:
        folder.mkdir()  # fails if another process made it meanwhile
    except OSError as error:
        raise BadInput(f"cannot be made: {error.strerror}", where=str(folder)) from None
    return _write(folder, texts)


def _write(folder: Path, texts: Mapping[str, str]) -> list[Path]:
    files = []
    try:
        for path, text in texts.items():
            file = folder / path
            file.parent.mkdir(exist_ok=True)
            with file.open("x", encoding="utf-8") as stream:
                stream.write(text)
            files.append(file)
    except OSError as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise BadInput(f"cannot be written: {error.strerror}", where=str(folder)) from None
    return files


def _requirements_text(machine: Machine) -> str:
    lines = [
        _SPDX,
        *comments(
            [
                "Placeholders, to be replaced by what the machine must do (docs/verdicts.md): no message is faster "
                "than its link, and none takes longer than 10 ms. `fabricbench judge CAMPAIGN --propose` writes bounds "
                "from a campaign."
            ]
        ),
        "schema: 1",
        "requirements:",
    ]
    for draft in machine.fabrics:
        lines += _requirements(draft)
    return "".join(f"{line}\n" for line in lines)


def _requirements(draft: Draft) -> Iterator[str]:
    name = draft.name
    yield f"  - id: {name}-latency"
    yield f"    text: a message of 8 B over {name} takes at most 10 ms"
    yield (
        f"    select: {{tool: micro, benchmark: pingpong, metric: latency, fabric: {name}, "
        'msg_size_bytes: 8, case: ""}'
    )
    yield "    where: measured"
    yield "    at_most: 10000 us"
    if draft.gbit:
        yield f"  - id: {name}-no-faster-than-its-link"
        yield f"    text: messages of 4 MiB over {name} are not faster than the {draft.gbit:g} Gbit/s of a port"
        yield (
            f"    select: {{tool: micro, benchmark: pingpong, metric: bandwidth, fabric: {name}, "
            'msg_size_bytes: 4 MiB, case: ""}'
        )
        yield "    where: measured"
        yield f"    at_most: {draft.gbit * MB_S_PER_GBIT_S * OVER_THE_RATE:.0f} MB/s"


def _page_text(name: str, machine: Machine, day: str) -> str:
    slurm = machine.slurm
    about = (
        f"Slurm {one_line(slurm.version) or 'of unknown version'} manages the cluster {one_line(slurm.cluster)}; "
        f"launches use {slurm.nodes} nodes of `{slurm.access}`."
        if slurm
        else "A single machine, without Slurm."
    )
    rows = [
        f"| `{one.name}` | {one.transport} | {', '.join(one.ports)} | {', '.join(one.stacks)} |"
        for one in machine.fabrics
    ]
    return "\n".join(
        [
            "<!-- SPDX-License-Identifier: Apache-2.0 -->",
            f"# System `{name}`",
            "",
            about,
            f"`fabricbench site new {name}` wrote this folder on {day}; it read the files of {one_line(machine.host)}.",
            "",
            "| fabric | transport | ports of a node | stacks |",
            "| --- | --- | --- | --- |",
            *rows,
            "",
            f"    fabricbench doctor --site --system {name}    # what is wrong, before a job is submitted",
            f"    fabricbench run --system {name} --report     # a campaign of six blocks",
            "",
            "The comments in `settings.py` name what the command could not know. Describe here what no file shows:",
            "switches, cables, contacts.",
            "",
        ]
    )


def _spack_text(machine: Machine) -> str:
    """The stacks of the site that ``spack.yaml`` defines; empty without Slurm or without such stacks."""
    environment = REPOSITORY / ENVIRONMENT
    defined = read_environment(environment).stacks if machine.slurm and environment.exists() else {}
    names = [name for name in machine.stacks if name in defined]
    if not names:
        return ""
    what = (
        "What Spack builds for this site (docs/stacks.md), if FABRICBENCH_SYSTEM names it. "
        "site/_template/spack/stacks.yaml shows how compilers and externals are pinned."
    )
    entries = [f"      - ${name}" for name in names]
    return "".join(f"{line}\n" for line in [_SPDX, *comments([what]), "definitions:", "  - stacks:", *entries])
