# SPDX-License-Identifier: Apache-2.0
"""A stack, or a library below MPI, as a site declares it (``site/stacks.py``) and as it was found (``stack.json``)."""

import importlib.util
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from fabricbench.errors import BadInput, nearest
from fabricbench.site.transports import BINDINGS

STACK_FILE = "stack.json"

ONE_PORT = "1"
RAILS = (ONE_PORT, "striped", "bound")
"""Ways to use several ports: one of them only; a large message over all; each process its own."""
PORT_WORD = "{port}"
"""Stands for the name of the one port in the settings of ``ONE_PORT``."""
Level = Literal["mpi", "user"]
"""What a stack is: an MPI implementation, or a user-level library, whose programs come as server and client."""


@dataclass(frozen=True, slots=True)
class Debian:
    """How Debian packs a stack: its packages, and the commands that stand for mpirun, mpicc, mpicxx, mpif90.

    ``abi_library`` is the library that stands for ``libmpi.so.12`` where the stack keeps MPICH's common ABI.
    ``files`` are there where those packages are that bring no command.
    """

    packages: tuple[str, ...]
    commands: Mapping[str, str]
    abi_library: str | None = None
    files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Handshake:
    """The least that two processes of a user-level library do: what stands for Init and Finalize.

    Arguments of server and client, the program first; ``{address}`` is the fabric's, ``{port}`` the
    launcher's (``fabricbench-pair``).
    """

    server: tuple[str, ...]
    client: tuple[str, ...]

    def arguments(self, paths: Mapping[str, str]) -> list[str]:
        """For ``fabricbench-pair``, the programs by their ``paths``."""
        server, client = ([paths.get(words[0], words[0]), *words[1:]] for words in (self.server, self.client))
        return ["--", *server, "::", *client]


def handshake_at(arguments: Iterable[str], address: str) -> list[str]:
    """A handshake's arguments with the fabric's address filled in."""
    return [word.replace("{address}", address) for word in arguments]


@dataclass(frozen=True, slots=True)
class Stack:
    """One MPI implementation, or at ``level`` user one library below MPI.

    ``pypi``: requirements that hold it; ``environment``: variables on every fabric; ``transports``: variables for
    each transport; ``{prefix}`` in a value is the stack's own prefix, ``{apps}`` that of what was built on it.
    ``oversubscribed``: variables that make waiting ranks yield, for launches of more ranks than cores. ``rails``: for
    each transport variables for each way to use several ports (``RAILS``); in them ``{rails}`` is the number of ports,
    ``{ports}`` their names, ``{port}`` that of the one port, the first unless a check asks for another.
    ``binding``: options of its own launcher for each thing that a rank may be bound to (``site.transports.BINDINGS``).
    ``launcher`` is a ReFrame launcher's name; ``pmi`` is what ``srun --mpi`` takes; ``launcher_environment`` variables
    for launchers that are not the stack's own, by their name.
    ``runs_imb``: the public IMB binaries run on it (MPICH's common ABI). ``links``: symbolic links within the
    prefix, from name to target, that its wheels lack.

    At level user: ``programs`` are its benchmarks, each with the command that prints its version; ``own`` are those of
    this project, each with the option of ``apps/CMakeLists.txt`` that builds it where the library's headers are;
    ``handshake`` is its wire-up; ``unable`` says why it cannot use a transport.
    """

    name: str
    pypi: tuple[str, ...] = ()
    debian: Debian | None = None
    launcher: str = "mpirun"
    pmi: str = ""
    launcher_environment: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    transports: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    oversubscribed: Mapping[str, str] = field(default_factory=dict)
    rails: Mapping[str, Mapping[str, Mapping[str, str]]] = field(default_factory=dict)
    binding: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    runs_imb: bool = False
    links: Mapping[str, str] = field(default_factory=dict)
    level: Level = "mpi"
    programs: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    own: Mapping[str, str] = field(default_factory=dict)
    handshake: Handshake | None = None
    unable: Mapping[str, str] = field(default_factory=dict)

    @property
    def features(self) -> list[str]:
        """What a check may ask of it."""
        return ["mpi"] if self.level == "mpi" else ["userlevel", *self.programs, *self.own]

    @property
    def only_spack(self) -> bool:
        """Whether neither PyPI nor Debian has it, so that set-up alone cannot bring it."""
        return not self.pypi and self.debian is None

    def without(self, transport: str) -> tuple[str, str]:
        """Why it cannot use a transport that it has no settings for, and the hint."""
        if transport in self.unable:
            return f"{self.name} cannot use {transport}: {self.unable[transport]}", ""
        return f"no settings for {self.name} on {transport}", f"add them to {self.name} in site/stacks.py"


class GromacsBuild(BaseModel):
    """A stack's GROMACS as set-up found it: ``simd`` and ``precision`` in GROMACS's words, ``problem`` says why it
    cannot serve the stack, empty where it can."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    program: str
    version: str = ""
    simd: str = ""
    precision: str = ""
    mpi_library: str = ""
    problem: str = ""


class Installed(BaseModel):
    """``stack.json``: a stack that set-up found, with the benchmarks on it.

    ``imb`` is IMB-MPI1's path, the suite's other programs stand beside it; ``imb_mt_problem`` says why IMB-MT does
    not run, empty where it does. ``spec_hash`` is Spack's hash of the stack, by package; empty where it is not Spack's.
    Of one that is, ``apps`` is its view, which holds the other benchmarks too.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    stack: str
    source: str
    version: str
    prefix: str
    apps: str
    library_path: tuple[str, ...] = ()
    imb: str | None = None
    imb_mt_problem: str = ""
    gromacs: GromacsBuild | None = None
    programs: dict[str, str] = {}
    spec_hash: dict[str, str] = {}

    @property
    def missing_file(self) -> str:
        """What set-up found and is no longer there; empty where all is."""
        own = [] if self.programs else [f"{self.prefix}/bin/mpirun"]
        files = [*own, *self.programs.values(), f"{self.apps}/bin/fabricbench-launch"]
        return next((file for file in files if not Path(file).exists()), "")

    def variables(self, stack: Stack, transport: str) -> dict[str, str]:
        """The variables of a lane, with this machine's directories filled in."""
        values = {**stack.environment, **stack.transports.get(transport, {})}
        return {
            key: value.replace("{prefix}", self.prefix).replace("{apps}", self.apps) for key, value in values.items()
        }


def read_installed(file: Path) -> Installed | None:
    """The stack set up in ``file``; None where set-up never finished it."""
    try:
        return Installed.model_validate_json(file.read_bytes())
    except FileNotFoundError:
        return None
    except OSError as error:
        what = f"cannot be read: {error.strerror}"
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(map(str, first["loc"]))
        what = f"not a stack's record: {key}: {first['msg']}" if key else f"not a stack's record: {first['msg']}"
    raise BadInput(what, where=str(file), hint="delete it and set up again")


def site_stacks(site: Path) -> dict[str, Stack]:
    """``STACKS`` of ``site/stacks.py``, loaded by its path (``site`` is no package: it would shadow Python's)."""
    file = site / "stacks.py"
    spec = importlib.util.spec_from_file_location("fabricbench_site_stacks", file)
    if spec is None or spec.loader is None or not file.exists():
        raise BadInput("no such file", where=str(file), expected="a file that defines STACKS")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
        stacks = module.STACKS
    except (Exception, SystemExit) as error:
        raise BadInput(f"{type(error).__name__}: {error}", where=str(file)) from None
    if not isinstance(stacks, dict) or not all(isinstance(value, Stack) for value in stacks.values()):
        raise BadInput("STACKS is wrong", where=str(file), expected="a dict from name to Stack")
    for name, stack in stacks.items():
        if name != stack.name:
            raise BadInput(
                f"the stack '{stack.name}' stands under '{name}'", where=str(file), expected=f"'{stack.name}'"
            )
        for bound in stack.binding:
            if bound not in BINDINGS:
                raise BadInput(f"{name}: unknown binding '{bound}'", where=str(file), expected=nearest(bound, BINDINGS))
        for transport, ways in stack.rails.items():
            if transport not in stack.transports:
                expected = nearest(transport, stack.transports)
                raise BadInput(f"{name}: rails on '{transport}'", where=str(file), expected=expected)
            for way in ways:
                if way not in RAILS:
                    raise BadInput(f"{name}: unknown rails '{way}'", where=str(file), expected=nearest(way, RAILS))
    return stacks
