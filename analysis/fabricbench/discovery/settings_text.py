# SPDX-License-Identifier: Apache-2.0
"""Composes the ``settings.py`` of a new site, in the form that ruff gives to Python."""

import json
import textwrap
from collections.abc import Iterable, Mapping, Sequence

from fabricbench.discovery.fabrics import Draft
from fabricbench.discovery.survey import Machine, SlurmDraft

WIDTH = 120
_SPDX = "# SPDX-License-Identifier: Apache-2.0"


def settings_text(name: str, machine: Machine, day: str) -> str:
    """Returns the text of ``settings.py`` for the system ``name``; ``day`` is the date of the survey."""
    slurm = machine.slurm
    title = f"The Slurm cluster {one_line(slurm.cluster) or name}" if slurm else "A single machine"
    head = [
        _SPDX,
        f'"""{title.replace(chr(34), "")}, as ``fabricbench site new`` read it on {one_line(machine.host)}, {day}.',
        "",
        "Edit it as needed (docs/add-a-site.md); the command never writes it again.",
        '"""',
        "",
        *(["import os", ""] if slurm and slurm.configuration else []),
        "from fabricbench.launch.configuration import reframe_configuration",
        f"from fabricbench.site.fabric import {'Fabric, Nodes, Scheduler' if slurm else 'Fabric'}",
        "from fabricbench.site.system import System",
        "",
    ]
    if slurm and slurm.configuration:
        head += [f'os.environ.setdefault("SLURM_CONF", {quoted(slurm.configuration)})', ""]
    body = [
        *comments(machine.notes),
        *(["#"] if machine.notes else []),
        *comments(
            ["Names in site/stacks.py. `fabricbench setup` installs those that are missing, unless Spack builds them."]
        ),
        *assignment("STACKS", list(machine.stacks), ""),
        "",
        *(_slurm(slurm) if slurm else []),
    ]
    for draft in machine.fabrics:
        body += [*_fabric(draft, bool(slurm)), ""]
    return "".join(f"{line}\n" for line in [*head, *body, *_system(name, machine)])


def one_line(text: str) -> str:
    """Returns printable text without line breaks and backslashes, at most 200 characters."""
    words = " ".join(text.split()).replace("\\", "/")
    return "".join(letter for letter in words if letter.isprintable())[:200]


def quoted(text: str) -> str:
    """Returns a text as a literal of Python."""
    return json.dumps(text)


def comments(notes: Iterable[str]) -> list[str]:
    """Returns each note as lines of comments."""
    return [f"# {line}" for note in notes for line in textwrap.wrap(one_line_of_note(note), WIDTH - 2)]


def one_line_of_note(note: str) -> str:
    """Returns a note without line breaks and unprintable characters."""
    return "".join(letter for letter in " ".join(note.split()) if letter.isprintable())


def assignment(name: str, value: object, indent: str, separator: str = " = ", end: str = "") -> list[str]:
    """Returns ``name = value`` in one line if it fits, else with an element of the list or mapping per line."""
    inline = f"{indent}{name}{separator}{_literal(value)}{end}"
    if len(inline) <= WIDTH or not isinstance(value, Mapping | list) or not value:
        return [inline]
    lines = [f"{indent}{name}{separator}{'{' if isinstance(value, Mapping) else '['}"]
    inner = indent + "    "
    if isinstance(value, Mapping):
        for key, part in value.items():
            lines += assignment(quoted(str(key)), part, inner, ": ", ",")
        return [*lines, f"{indent}}}{end}"]
    return [*lines, *(f"{inner}{_literal(part)}," for part in value), f"{indent}]{end}"]


def _literal(value: object) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{quoted(str(key))}: {_literal(part)}" for key, part in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_literal, value)) + "]"
    return quoted(value) if isinstance(value, str) else repr(value)


def _slurm(slurm: SlurmDraft) -> list[str]:
    fields: dict[str, object] = {"name": slurm.scheduler, "launcher": "srun", "access": [slurm.access]}
    fields |= {"pmi": dict(slurm.pmi)} if slurm.pmi else {}
    fields |= {"minutes": slurm.minutes}
    fields |= {} if slurm.exclusive else {"exclusive": False}
    nodes: dict[str, object] = {"count": slurm.nodes, "cores": slurm.cores}
    nodes |= {"memory_bytes": slurm.memory_bytes} if slurm.memory_bytes else {}
    memory = (
        []
        if slurm.memory_bytes
        else ["The memory of a node is unknown: add memory_bytes=..., or it is that of this machine."]
    )
    return [
        *comments(slurm.notes),
        *_call("SLURM", "Scheduler", fields),
        "",
        *comments([*slurm.node_notes, *memory]),
        *_call("NODES", "Nodes", nodes),
        "",
    ]


def _call(name: str, function: str, fields: Mapping[str, object]) -> list[str]:
    """Returns ``name = function(field=value, …)`` in one line if it fits, else with a field per line."""
    inline = f"{name} = {function}({', '.join(f'{key}={_literal(value)}' for key, value in fields.items())})"
    if len(inline) <= WIDTH:
        return [inline]
    lines = [line for key, value in fields.items() for line in assignment(key, value, "    ", "=", ",")]
    return [f"{name} = {function}(", *lines, ")"]


def constant(name: str) -> str:
    """Returns the name of a fabric as that of a constant of Python."""
    return name.upper().replace("-", "_")


def _fabric(draft: Draft, by_slurm: bool) -> list[str]:
    fields: list[tuple[str, object]] = [
        ("name", draft.name),
        ("transport", draft.transport),
        ("stacks", list(draft.stacks)),
    ]
    lines = [line for key, value in fields for line in assignment(key, value, "    ", "=", ",")]
    if by_slurm and draft.between_nodes:
        lines += ["    scheduler=SLURM,", "    nodes=NODES,"]
    rest: list[tuple[str, object]] = [
        ("ports", list(draft.ports)),
        ("variables", dict(draft.variables)),
        ("gid_index", draft.gid_index),
        ("rdma_cm", draft.rdma_cm),
        ("stack_variables", dict(draft.stack_variables)),
        ("attestation", "" if draft.attestation == "required" else draft.attestation),
    ]
    lines += [line for key, value in rest if _is_set(value) for line in assignment(key, value, "    ", "=", ",")]
    return [*comments(draft.notes), f"{constant(draft.name)} = Fabric(", *lines, ")"]


def _is_set(value: object) -> bool:
    """Whether a field differs from its default; 0 is a GID."""
    return value not in ("", [], {}) and value is not None and value is not False


def _system(name: str, machine: Machine) -> list[str]:
    cluster = machine.slurm
    about = (
        f"the Slurm cluster {one_line(cluster.cluster) or name}" if cluster else f"the machine {one_line(machine.host)}"
    )
    names: Sequence[str] = [constant(draft.name) for draft in machine.fabrics]
    inline = f"    fabrics=[{', '.join(names)}],"
    fabrics = [inline] if len(inline) <= WIDTH else ["    fabrics=[", *(f"        {one}," for one in names), "    ],"]
    return [
        "SYSTEM = System(",
        f"    name={quoted(name)},",
        "    file=__file__,",
        f"    description={quoted(about)},",
        *fabrics,
        "    stacks=STACKS,",
        ")",
        "site_configuration = reframe_configuration(SYSTEM)",
    ]
