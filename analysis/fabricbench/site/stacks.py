# SPDX-License-Identifier: Apache-2.0
"""A stack, or a library below MPI: its declaration in ``site/stacks.py`` and its installation, ``stack.json``."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple, get_args

from pydantic import BaseModel, ConfigDict, ValidationError

from fabricbench.errors import BadInput, nearest
from fabricbench.site.execute import execute
from fabricbench.site.frozen import freeze
from fabricbench.site.library import Library
from fabricbench.site.modules import Modules
from fabricbench.site.targets import Target
from fabricbench.site.transports import BINDINGS, PLACEMENTS, VARIANTS

STACK_FILE = "stack.json"
EXTERNAL = ("prefix", "module")
"""The sources of MPI libraries that set-up does not install: the user names their prefix or their modules."""

RailPolicy = Literal["1", "striped", "bound"]
"""How a stack uses several ports: one port only; every large message over all ports; each process on its own port."""
RAIL_POLICIES: tuple[RailPolicy, ...] = get_args(RailPolicy)
ONE_PORT: RailPolicy = "1"
PORT_WORD = "{port}"
"""The placeholder of the port's name in the variables of ``ONE_PORT``."""
ADDRESS_WORD, FABRIC_WORD = "{address}", "{fabric}"
"""The placeholders of the server's address, and of the options that select a fabric, in the words of a handshake."""
FabricOption = Literal["device", "gid", "rdma_cm"]
Level = Literal["mpi", "user"]
"""An MPI implementation, or a user-level library, whose programs are a server and a client."""


class Unavailable(NamedTuple):
    """The reason why a lane or a transport cannot be used, and a hint, which may be empty."""

    reason: str
    hint: str


@dataclass(frozen=True, slots=True)
class Debian:
    """The Debian packages of a stack, and its commands that serve as mpirun, mpicc, mpicxx and mpif90.

    ``abi_library`` replaces ``libmpi.so.12`` for a stack with MPICH's common ABI. ``files`` show that packages without
    commands are installed.
    """

    packages: tuple[str, ...]
    commands: Mapping[str, str]
    abi_library: str | None = None
    files: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        freeze(self)


@dataclass(frozen=True, slots=True)
class Handshake:
    """The shortest exchange of two processes of a user-level library; it corresponds to Init and Finalize of MPI.

    ``server`` and ``client`` are command lines. ``{address}`` stands for the server's address, the word ``{fabric}``
    for the options that select the fabric (``Stack.fabric_options``), ``{port}`` for a port that
    ``fabricbench-client-server`` chooses.
    """

    server: tuple[str, ...]
    client: tuple[str, ...]

    def __post_init__(self) -> None:
        freeze(self)

    def arguments(self, paths: Mapping[str, str], address: str, fabric_options: Sequence[str] = ()) -> tuple[str, ...]:
        """Returns the command lines for ``fabricbench-client-server``, with the address and the programs' ``paths``.

        Between nodes ``address`` is ``{address}``, which ``fabricbench-client-server`` fills in.
        """
        server, client = ([paths.get(words[0], words[0]), *words[1:]] for words in (self.server, self.client))
        result: list[str] = []
        for word in ("--", *server, "::", *client):
            result += fabric_options if word == FABRIC_WORD else [word.replace(ADDRESS_WORD, address)]
        return tuple(result)


@dataclass(frozen=True, slots=True)
class Stack:
    """One MPI implementation, or one library below MPI if ``level`` is user.

    ``library``: how its MPI library is recognised; None: any library is accepted. ``pypi``: the requirements that
    install it from PyPI. ``environment``: variables on every fabric. ``transports``:
    variables by transport; ``{prefix}`` stands for the stack's prefix, ``{apps}`` for that of the programs on it.
    ``variants``: variables by variant of a lane (``VARIANTS``) and transport, which override those of the transport.
    ``oversubscribed``: variables that make waiting ranks yield, for launches with more ranks than cores.
    ``rails``: variables by transport and rail policy; ``{rails}`` stands for the number of ports, ``{ports}`` for their
    names, ``{port}`` for the name of the one port, the first unless a check selects another.
    ``binding``: options of the stack's launcher by part of a node (``site.transports.BINDINGS``).
    ``placement``: its options by placement (``PLACEMENTS``); ``hosts``: its options that name the nodes. ``{hosts}``
    stands for their names, ``{slots}`` for names with the number of ranks (``n1:8,n2:8``), ``{per_node}`` for that
    number.
    ``launcher``: ReFrame's name of the stack's launcher. ``pmi``: the value of ``srun --mpi``.
    ``launcher_environment``: variables by name of another launcher, such as ``srun``.
    ``runs_imb``: whether the public IMB binaries run on it, as on MPICH's common ABI. ``links``: symbolic links in the
    prefix, from name to target, that its wheels lack. ``on_request``: set-up installs it only if it is named.
    ``unsupported``: the reason by transport that it cannot use.

    At level user: ``programs`` are its benchmarks, each with the command that prints its version; ``own`` are this
    project's programs for it, each with the option of ``apps/CMakeLists.txt`` that builds it; ``handshake`` is its
    wire-up. ``fabric_options`` are options of the programs by which they use the fabric's adapter: ``device`` with
    ``{adapter}`` and ``{number}`` of its port, ``gid`` with ``{gid}``, its GID, and ``rdma_cm``, to connect by the RDMA
    connection manager.
    """

    name: str
    library: Library | None = None
    pypi: tuple[str, ...] = ()
    debian: Debian | None = None
    launcher: str = "mpirun"
    pmi: str = ""
    launcher_environment: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    transports: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    variants: Mapping[str, Mapping[str, Mapping[str, str]]] = field(default_factory=dict)
    oversubscribed: Mapping[str, str] = field(default_factory=dict)
    rails: Mapping[str, Mapping[str, Mapping[str, str]]] = field(default_factory=dict)
    binding: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    placement: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    hosts: tuple[str, ...] = ()
    runs_imb: bool = False
    links: Mapping[str, str] = field(default_factory=dict)
    on_request: bool = False
    level: Level = "mpi"
    programs: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    own: Mapping[str, str] = field(default_factory=dict)
    handshake: Handshake | None = None
    fabric_options: Mapping[FabricOption, tuple[str, ...]] = field(default_factory=dict)
    unsupported: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        freeze(self)

    @property
    def features(self) -> list[str]:
        """The features of its ReFrame environment, by which checks select it."""
        return ["mpi"] if self.level == "mpi" else ["userlevel", *self.programs, *self.own]

    @property
    def only_spack(self) -> bool:
        """Whether only Spack can install it: it is neither on PyPI nor in Debian."""
        return not self.pypi and self.debian is None

    @property
    def set_up_command(self) -> str:
        """The command that sets it up, and for a stack that set-up cannot install, the command for an installed one."""
        if not self.only_spack:
            return f"fabricbench setup {self.name}"
        return f"fabricbench setup --spack build/views {self.name}, or fabricbench setup {self.name} --prefix DIRECTORY"

    def environment_at(self, prefix: str) -> dict[str, str]:
        """Returns the variables of every fabric, with the prefix of the stack filled in."""
        return {name: value.replace("{prefix}", prefix) for name, value in self.environment.items()}

    def unavailable_on(self, transport: str) -> Unavailable | None:
        """Returns the reason why the stack cannot use a transport, and a hint; None if it has settings for it."""
        if transport in self.transports:
            return None
        if transport in self.unsupported:
            return Unavailable(f"{self.name} cannot use {transport}: {self.unsupported[transport]}", "")
        return Unavailable(f"no settings for {self.name} on {transport}", f"add them to {self.name} in site/stacks.py")


class GromacsBuild(BaseModel):
    """A stack's GROMACS. ``simd`` and ``precision`` are GROMACS's own names; ``problem`` is the reason why it cannot be
    used with the stack, empty if it can."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    program: str
    version: str = ""
    simd: str = ""
    precision: str = ""
    mpi_library: str = ""
    problem: str = ""


class SourceBuild(BaseModel):
    """A package of benchmarks that ``fabricbench setup --source`` built on a stack, or that the user built on it.

    ``prefix``: the folder with its programs. ``origin``: the user's archive or folder. ``options``: the settings of the
    build; empty for a package that the user built. ``key``: the digest of everything that it was built from.
    ``target``: what it was built for; None if its build description does not say so.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    package: str
    version: str
    prefix: str
    origin: str
    options: dict[str, str] = {}
    key: str = ""
    target: Target | None = None

    @property
    def text(self) -> str:
        """The version and the options."""
        words = [self.version, *(f"{name}={value!r}" for name, value in self.options.items() if value)]
        return " ".join(filter(None, words))


class Installed(BaseModel):
    """``stack.json``: a stack that is set up, and the benchmarks built on it.

    ``source``: ``debian``, ``pypi``, ``spack``, ``prefix`` or ``module`` for MPI stacks, ``found`` for libraries.
    ``modules``: those that jobs load; None unless the source is ``module``. ``fortran_problem`` is the reason why an
    MPI library of the user's has no programs in Fortran; empty if it has them, or if the reason is unknown.

    ``imb`` is the path of IMB-MPI1; the suite's other programs are in the same folder. ``imb_mt_problem`` is the reason
    why IMB-MT does not run, empty if it does. ``spec_hash`` holds Spack's hashes by package, empty for a stack that
    Spack did not build. For a stack of Spack's, ``apps`` is its view, which also has the other benchmarks. ``sources``
    holds the packages from ``fabricbench setup --source``, by name. ``target``: what this project's NAS kernels are
    built for; None for a stack of Spack's, whose specification says it, and for set-ups of earlier versions.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    stack: str
    source: str
    version: str
    prefix: str
    apps: str
    library_path: tuple[str, ...] = ()
    modules: Modules | None = None
    fortran_problem: str = ""
    imb: str | None = None
    imb_mt_problem: str = ""
    gromacs: GromacsBuild | None = None
    programs: dict[str, str] = {}
    spec_hash: dict[str, str] = {}
    sources: dict[str, SourceBuild] = {}
    target: Target | None = None

    @property
    def is_external(self) -> bool:
        """Whether the user has named the MPI library, by its prefix or its modules."""
        return self.source in EXTERNAL

    @property
    def origin(self) -> str:
        """The source as text, with prefix and modules of an MPI library that the user has named."""
        if not self.is_external:
            return self.source
        return f"module {self.modules.text} in {self.prefix}" if self.modules else f"prefix {self.prefix}"

    @property
    def missing_file(self) -> str:
        """The first file of the installation that no longer exists; empty if all exist."""
        own = [] if self.programs else [f"{self.prefix}/bin/mpirun"]
        files = [*own, *self.programs.values(), f"{self.apps}/bin/fabricbench-launch"]
        return next((file for file in files if not Path(file).exists()), "")

    def variables(self, stack: Stack, transport: str, variant: str = "") -> dict[str, str]:
        """Returns the stack's variables on a transport, with this machine's directories filled in.

        ``variant``: the variant of the lane, empty for none.
        """
        of_variant = stack.variants.get(variant, {}).get(transport, {})
        values = {**stack.environment, **stack.transports.get(transport, {}), **of_variant}
        return {
            key: value.replace("{prefix}", self.prefix).replace("{apps}", self.apps) for key, value in values.items()
        }


def read_installed(file: Path) -> Installed | None:
    """Reads a ``stack.json``. Returns None if there is none; raises BadInput if it is not valid."""
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
    """Returns ``STACKS`` of ``site/stacks.py``; raises BadInput if it is missing or wrong."""
    file = site / "stacks.py"
    if not file.exists():
        raise BadInput("no such file", where=str(file), expected="a file that defines STACKS")
    stacks = execute(file).get("STACKS")
    if not isinstance(stacks, dict) or not all(isinstance(value, Stack) for value in stacks.values()):
        raise BadInput("STACKS is missing or wrong", where=str(file), expected="a dict from name to Stack")
    for name, stack in stacks.items():
        _check(name, stack, str(file))
    return stacks


def _check(name: str, stack: Stack, where: str) -> None:
    if name != stack.name:
        raise BadInput(f"the key of the stack '{stack.name}' is '{name}'", where=where, expected=f"'{stack.name}'")
    for part in stack.binding:
        if part not in BINDINGS:
            raise BadInput(f"{name}: unknown binding '{part}'", where=where, expected=nearest(part, BINDINGS))
    for variant in stack.variants:
        if variant not in VARIANTS:
            raise BadInput(f"{name}: unknown variant '{variant}'", where=where, expected=nearest(variant, VARIANTS))
    for placement in stack.placement:
        if placement not in PLACEMENTS:
            expected = nearest(placement, PLACEMENTS)
            raise BadInput(f"{name}: unknown placement '{placement}'", where=where, expected=expected)
    for transport, policies in stack.rails.items():
        if transport not in stack.transports:
            expected = nearest(transport, stack.transports)
            raise BadInput(f"{name}: rails on '{transport}'", where=where, expected=expected)
        for policy in policies:
            if policy not in RAIL_POLICIES:
                expected = nearest(policy, RAIL_POLICIES)
                raise BadInput(f"{name}: unknown rail policy '{policy}'", where=where, expected=expected)
