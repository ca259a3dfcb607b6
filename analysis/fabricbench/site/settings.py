# SPDX-License-Identifier: Apache-2.0
"""What a site's ``settings.py`` is made of: partitions are fabrics, environments are stacks."""

import os
import random
import re
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any, get_args

from fabricbench.errors import BadInput, nearest
from fabricbench.files.layout import LAUNCHES
from fabricbench.site.stacks import STACK_FILE, read_installed, site_stacks
from fabricbench.site.transports import BINDINGS, TRANSPORTS, Binding, Transport

REPOSITORY = Path(__file__).resolve().parents[3]
"""Root of the checkout that this package stands in."""

CAMPAIGN = "FABRICBENCH_CAMPAIGN"
BLOCK = "FABRICBENCH_BLOCK"
SESSION = "FABRICBENCH_SESSION"
SEED = "FABRICBENCH_SEED"
LANES = "FABRICBENCH_LANES"
ALLOCATION = "FABRICBENCH_ALLOCATION"
"""Set where ReFrame runs inside an allocation, which takes the place of its scheduler."""

FORECAST = "FABRICBENCH_FORECAST"
"""Set where a dry run of ReFrame is to leave the facts of launches and skips as if it were none."""

LAUNCHERS = ("mpirun", "srun")
_UNSAFE = re.compile(r"[^\w@%+=,./~-]")

SLURM = ("slurm", "squeue")
"""ReFrame's schedulers that are Slurm, with and without its accounting."""
SCHEDULERS = ("local", *SLURM, "pbs", "pbspro", "torque", "flux", "lsf", "sge", "oar")


def build_root() -> Path:
    """Where set-up keeps stacks and what was built on them: ``build/``, or ``FABRICBENCH_BUILD``."""
    return Path(os.environ.get("FABRICBENCH_BUILD") or REPOSITORY / "build").resolve()


@dataclass(frozen=True, slots=True)
class Session:
    """One run of ReFrame: it fills one block of one campaign, or what is missing of it."""

    campaign: str
    block: int
    session: int
    seed: int
    lanes: tuple[str, ...]

    @property
    def stage(self) -> str:
        """Where ReFrame stages this session's launches."""
        return f"{self.campaign}/{LAUNCHES}/b{self.block:03d}.s{self.session:02d}"

    @property
    def environment(self) -> dict[str, str]:
        """The variables from which ``session`` reads it again, within ReFrame."""
        return {
            CAMPAIGN: self.campaign,
            BLOCK: str(self.block),
            SESSION: str(self.session),
            SEED: str(self.seed),
            LANES: " ".join(self.lanes),
        }


@cache
def session() -> Session:
    """The session that the environment names: by its number, else a further one of the campaign, else a new campaign of
    a single block; the same for all settings files.

    Seeds the order in which ReFrame's ``--exec-order=random`` runs the block.
    """
    campaign = os.environ.get(CAMPAIGN)
    block = _whole(BLOCK)
    number = _whole(SESSION) if SESSION in os.environ or not campaign else next_session(Path(campaign), block)
    seed = _whole(SEED)
    lanes = tuple(os.environ.get(LANES, "").split())
    random.seed(seed * 1_000_003 + block * 1009 + number)
    if not campaign:
        stamp = f"{time.strftime('%Y%m%dT%H%M%S')}-{os.getpid()}"
        campaign = str(build_root() / "dry-run" if "--dry-run" in sys.argv else REPOSITORY / "campaigns" / stamp)
    path = Path(campaign).resolve()
    no_blanks(path)
    return Session(str(path), block, number, seed, lanes)


def next_session(campaign: Path, block: int) -> int:
    """The number of a further session of a block: it never stands where an earlier one left its launches."""
    numbers = [path.suffix[2:] for path in (campaign / LAUNCHES).glob(f"b{block:03d}.s*")]
    return max((int(text) + 1 for text in numbers if text.isascii() and text.isdigit()), default=0)


def no_blanks(path: Path, what: str = "a campaign's path") -> None:
    """BadInput where a path has blanks, quotes, or other characters that a shell or a list of paths takes apart:
    ReFrame writes paths into job scripts unquoted."""
    if found := _UNSAFE.search(str(path)):
        problem = f"blanks in {what}" if found[0].isspace() else f"the character {found[0]!r} in {what}"
        raise BadInput(problem, where=repr(str(path)), expected="a path without blanks, quotes and special characters")


def fabric(
    name: str,
    *,
    transport: Transport,
    environs: list[str],
    session: Session,
    site: Path,
    attestation: str = "required",
    scheduler: str = "local",
    launcher: str = "mpirun",
    access: Sequence[str] = (),
    modules: Sequence[str] = (),
    nodes: int = 1,
    minutes: int = 120,
    exclusive: bool = True,
    cores: int | None = None,
    memory_bytes: int | None = None,
    binding: Binding = "none",
    pmi: Mapping[str, str] | None = None,
    env_vars: dict[str, str] | None = None,
    stack_variables: Mapping[str, Mapping[str, str]] | None = None,
    max_jobs: int = 1,
    rails: int | None = None,
    ports: Sequence[str] = (),
    addresses: Sequence[str] = ("127.0.0.1",),
) -> dict[str, Any]:
    """A ReFrame partition for the fabric ``name``. ``env_vars`` of the site win over those of a stack, and of them
    those in ``stack_variables``, by stack, over those for all.

    ``scheduler`` is a ReFrame scheduler, ``access`` its options for this fabric's nodes (a partition, an account);
    inside an allocation, which ``fabricbench run`` takes for each block, the scheduler is local. ``modules`` are loaded
    in each job (the configuration then names its ``modules_system``). ``launcher`` mpirun is each stack's own; with
    srun a stack's PMI (``site/stacks.py``) gives way to that in ``pmi``, by stack.
    ``nodes`` is over how many nodes a launch spreads its ranks, as far as they go, ``minutes`` for how long at most an
    allocation is asked; ``cores`` and ``memory_bytes`` are what a node has, None where it is as much as this machine.
    ``exclusive`` nodes are asked of the scheduler for each launch alone; where a site only lends shared ones, the
    ports' counters also hold what others send.

    ``binding`` is what every rank is bound to, unless a check asks for something else; none is whatever the launcher
    does unasked.

    ``rails`` is how many ports a node has on this fabric, as many as are named unless told; ``ports`` their names, for
    stacks that want them, for checks that ask for one of them, and for the nodes' own counters: an interface as
    ``eth0``, an adapter's port as ``mlx5_0:1``.
    ``addresses`` are where the server of a user-level benchmark listens: the first for a single flow, the first two,
    of two networks, for two at once.
    """
    wrong = partial(BadInput, where=str(site / "settings.py"))
    if transport not in get_args(Transport):
        raise wrong(f"fabric {name}: unknown transport '{transport}'", expected=nearest(transport, TRANSPORTS))
    if attestation not in ("required", "optional"):
        raise wrong(f"fabric {name}: attestation is '{attestation}'", expected="required or optional")
    if nodes < 1 or minutes < 1 or (cores is not None and cores < 1):
        raise wrong(f"fabric {name}: {nodes} nodes, {minutes} minutes, {cores} cores", expected="1 or more")
    if memory_bytes is not None and memory_bytes < 1:
        raise wrong(f"fabric {name}: {memory_bytes} bytes of memory", expected="1 or more")
    if binding not in BINDINGS:
        raise wrong(f"fabric {name}: unknown binding '{binding}'", expected=nearest(binding, BINDINGS))
    if launcher not in LAUNCHERS:
        raise wrong(f"fabric {name}: unknown launcher '{launcher}'", expected=nearest(launcher, LAUNCHERS))
    for kind, named in (("pmi", pmi or {}), ("stack_variables", stack_variables or {})):
        for stack_name in named:
            if stack_name not in environs:
                raise wrong(
                    f"fabric {name}: {kind} for the stack '{stack_name}'",
                    expected=nearest(stack_name, environs),
                )
    rails = (len(ports) or 1) if rails is None else rails
    if rails < 1 or len(ports) not in (0, rails):
        raise wrong(f"fabric {name}: {rails} rails, {len(ports)} ports", expected="1 or more rails, as many ports")
    return {
        "name": name,
        "descr": f"the fabric {name}",
        "scheduler": "local" if os.environ.get(ALLOCATION) else scheduler,
        "access": list(access),
        "modules": list(modules),
        "launcher": "mpirun",  # until a test has its lane's (reframe_checks/base/lane.py)
        "environs": environs,
        "max_jobs": max_jobs,
        "features": ["fabric", transport],
        **({"processor": {"num_cpus": cores, "num_cpus_per_core": 1}} if cores else {}),
        "extras": {
            "fabric": name,
            "transport": transport,
            "attestation": attestation,
            "addresses": list(addresses),
            "launcher": launcher,
            "scheduler": scheduler,
            "access": list(access),
            "nodes": nodes,
            "minutes": minutes,
            "cores": cores,
            "memory_bytes": memory_bytes,
            "exclusive": exclusive,
            "binding": binding,
            "pmi": dict(pmi or {}),
            "site_variables": dict(env_vars or {}),
            "stack_variables": {stack_name: dict(named) for stack_name, named in (stack_variables or {}).items()},
            "rails": rails,
            "ports": list(ports),
            "site": str(site),
            "session": asdict(session),
            "lock": os.environ.get("FABRICBENCH_LOCK") or "/tmp/fabricbench.lock",
        },
    }


def stack(name: str, *, site: Path, system: str) -> dict[str, Any]:
    """A ReFrame environment for the stack ``name`` of ``site/stacks.py``, as set-up found it.

    A stack that is not installed stays in the list, with the reason: its launches become named skips.
    """
    stacks = site_stacks(site.parent)
    if name not in stacks:
        raise BadInput(f"unknown stack '{name}'", where=str(site / "settings.py"), expected=nearest(name, stacks))
    declared = stacks[name]
    installed = read_installed(build_root() / "stacks" / name / STACK_FILE)
    set_up = f"fabricbench setup --spack build/views {name}" if declared.only_spack else f"fabricbench setup {name}"
    return {
        "name": name,
        "features": declared.features,
        "target_systems": [system],
        "extras": {
            "stack": name,
            "level": declared.level,
            "handshake": declared.handshake.arguments(installed.programs) if declared.handshake and installed else None,
            "without": {t: declared.without(t) for t in TRANSPORTS if t not in declared.transports},
            "launcher": declared.launcher if declared.level == "mpi" else "local",
            "pmi": declared.pmi,
            "launcher_environment": {
                name: dict(variables) for name, variables in declared.launcher_environment.items()
            },
            "installed": installed.model_dump(mode="json") if installed else None,
            "variables": {t: installed.variables(declared, t) for t in declared.transports} if installed else {},
            "oversubscribed": dict(declared.oversubscribed),
            "rails": {t: {way: dict(named) for way, named in ways.items()} for t, ways in declared.rails.items()},
            "binding": {bound: list(options) for bound, options in declared.binding.items()},
            "missing": "" if installed else f"the stack {name} is not set up on this machine",
            "hint": "" if installed else f"run: {set_up}",
        },
    }


def configuration(
    *,
    system: str,
    descr: str,
    hostnames: list[str],
    fabrics: list[dict[str, Any]],
    stacks: list[dict[str, Any]],
    session: Session,
    modules_system: str = "nomod",
) -> dict[str, Any]:
    """The ``site_configuration`` of a system: launches stay in the campaign, nothing is written elsewhere.

    ``modules_system`` is ReFrame's name of the one that the fabrics' modules are of: lmod, tmod4, envmod, spack.
    """
    reframe = f"{session.campaign}/reframe"
    named = {"name": system, "descr": descr, "hostnames": hostnames, "modules_system": modules_system}
    where = {"prefix": reframe, "stagedir": session.stage, "outputdir": f"{reframe}/output"}
    return {
        "systems": [{**named, "partitions": fabrics, **where}],
        "environments": stacks,
        "general": [
            {
                "keep_stage_files": True,
                "report_file": f"{reframe}/session-{session.block:03d}.{session.session:02d}.json",
                "save_log_files": False,
                "target_systems": [system],
            }
        ],
        "storage": [{"enable": False, "target_systems": [system]}],
    }


def _whole(name: str) -> int:
    text = os.environ.get(name, "0")
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise BadInput(f"{name} is '{text[:40]}'", where="environment", expected="a whole number")
    return int(text)
