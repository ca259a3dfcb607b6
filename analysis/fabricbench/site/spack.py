# SPDX-License-Identifier: Apache-2.0
"""Reads Spack's files without Spack: ``spack.yaml``, the ``stacks.yaml`` of a site, ``spack.lock``, and views."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from fabricbench.errors import BadInput, nearest
from fabricbench.files.yaml_lines import YamlValue, read

ENVIRONMENT = "spack.yaml"
LOCK = "spack.lock"
SITE_STACKS = "stacks.yaml"
"""The file with the stacks and the version pins of a site, in ``site/<system>/spack/``."""
STACKS_LIST, BENCHMARKS_LIST = "stacks", "benchmarks"
_LISTS = (STACKS_LIST, BENCHMARKS_LIST)
MPI = "mpi"
METADATA = ".spack"
INSTALL = "spack -e . install"
ANEW = "make it anew: spack -e . concretize --force"

_Model = TypeVar("_Model", bound=BaseModel)
_SECTIONS = ("include", "definitions", "specs", "view", "concretizer", "config", "develop", "repos")
_SELECTED = re.compile(r"(?P<package>[a-z][a-z0-9-]*)(?: (?P<variant>\w+)=(?P<value>[\w:]+))?")


@dataclass(frozen=True, slots=True)
class SpackStack:
    """A stack of ``spack.yaml``: the spec of its MPI, its view, and the package and variant that the view selects."""

    name: str
    spec: str
    view: str
    package: str
    variant: str = ""
    value: str = ""

    def matches(self, build: "Build") -> bool:
        """Whether a build is this stack's MPI."""
        built = build.parameters.get(self.variant)
        values = built if isinstance(built, list) else [built]
        return build.name == self.package and (not self.variant or self.value in values)


@dataclass(frozen=True, slots=True)
class Environment:
    """``spack.yaml``: the stacks by name, and the specs of the benchmarks that are built on each of them."""

    path: Path
    stacks: Mapping[str, SpackStack]
    benchmarks: tuple[str, ...]


class Dependency(BaseModel):
    """An edge of Spack's graph; its ``virtuals`` are the interfaces that it provides, such as mpi."""

    name: str
    hash: str
    parameters: dict[str, list[str]] = {}

    @property
    def is_mpi(self) -> bool:
        """Whether the package was built on this MPI."""
        return MPI in self.parameters.get("virtuals", [])


class External(BaseModel):
    """The path of a package that Spack did not build."""

    path: str | None = None


class Build(BaseModel):
    """A concrete package; ``hash`` is Spack's hash over all inputs of the build."""

    model_config = ConfigDict(frozen=True)
    name: str
    version: str
    hash: str = Field(pattern=r"^[a-z2-7]{7,64}$")
    parameters: dict[str, object] = {}
    dependencies: tuple[Dependency, ...] = ()
    external: External | None = None


class _Root(BaseModel):
    hash: str


class Lock(BaseModel):
    """``spack.lock``: the packages that Spack resolved."""

    roots: tuple[_Root, ...]
    concrete_specs: dict[str, Build]


class _Nodes(BaseModel):
    nodes: tuple[Build, ...] = Field(min_length=1)


class _Metadata(BaseModel):
    spec: _Nodes


@dataclass(frozen=True, slots=True)
class View:
    """The installed view of one stack.

    ``prefix`` is the directory to which the link of the view points, ``mpi`` is the stack's MPI, ``mpi_prefix`` its
    prefix. ``packages`` are the hashes of the packages in the view.
    """

    prefix: Path
    mpi: Build
    mpi_prefix: Path
    packages: Mapping[str, str]


def read_environment(path: Path) -> Environment:
    """Reads ``spack.yaml``; raises BadInput with file and line for everything that is not supported."""
    root = read(path).mapping("the file", ("spack",))
    if "spack" not in root:
        raise BadInput("no key 'spack'", where=f"{path}:1", expected="a Spack environment")
    top = root["spack"].mapping("spack", _SECTIONS)
    for key in ("definitions", "specs", "view"):
        if key not in top:
            raise BadInput(f"no section '{key}'", where=f"{path}:1", expected=", ".join(_SECTIONS))
    lists = dict(_definitions(top["definitions"]))
    views = top["view"].mapping("view")
    stacks = {name: _stack(name, node, views) for name, node in lists.items() if name not in _LISTS}
    for name, node in views.items():
        if name not in stacks:
            raise BadInput(f"the view '{name}' belongs to no stack", where=node.where, expected=nearest(name, stacks))
    for name in _LISTS:
        if name not in lists:
            raise BadInput(f"no definition '{name}'", where=top["definitions"].where)
    _selection(lists[STACKS_LIST], stacks, str(path))
    benchmarks = tuple(node.text("a benchmark") for node in lists[BENCHMARKS_LIST].sequence(BENCHMARKS_LIST))
    return Environment(path, stacks, benchmarks)


def chosen_stacks(path: Path, environment: Environment) -> tuple[str, ...]:
    """Returns the stacks in a site's ``stacks.yaml``; raises BadInput for one that is not in ``spack.yaml``."""
    top = read(path).mapping("the file")
    lists = dict(_definitions(top["definitions"])) if "definitions" in top else {}
    if STACKS_LIST not in lists:
        raise BadInput(f"no definition '{STACKS_LIST}'", where=f"{path}:1", expected=f"- {STACKS_LIST}: [$NAME, …]")
    return _selection(lists[STACKS_LIST], environment.stacks, str(environment.path))


def read_lock(path: Path) -> Lock:
    """Reads ``spack.lock``; raises BadInput if it is not valid."""
    return _json(Lock, path, hint=ANEW)


def locked(lock: Lock, stack: SpackStack, where: str) -> dict[str, str]:
    """Returns the hashes by package of a stack's MPI and of every root built on it.

    Raises BadInput if the stack is not in the lock or has several builds of its MPI.
    """
    hashes: dict[str, str] = {}
    for root in lock.roots:
        build = lock.concrete_specs.get(root.hash)
        if build is None:
            raise BadInput(f"the root {root.hash[:7]} is not among its specs", where=where, hint=ANEW)
        for mpi in filter(stack.matches, _mpi_of(build, lock.concrete_specs)):
            if hashes.setdefault(mpi.name, mpi.hash) != mpi.hash:
                raise BadInput(
                    f"two builds of {mpi.name} in the stack {stack.name}, {hashes[mpi.name][:7]} and {mpi.hash[:7]}",
                    where=where,
                    expected="one, on which all its benchmarks are built",
                    hint="install one stack first, so that Spack uses it again: spack -e . install, then concretize",
                )
            hashes[build.name] = build.hash
    if not hashes:
        hint = f"choose it in site/<system>/spack/{SITE_STACKS}, then: spack -e . concretize --force"
        raise BadInput(f"the stack {stack.name} is not in it", where=where, hint=hint)
    return hashes


def read_view(path: Path) -> View:
    """Returns the view of one stack; raises BadInput if it is missing or has no package of this project."""
    if not path.is_dir():
        raise BadInput("no view", where=str(path), expected="a view of one stack", hint=f"run: {INSTALL}")
    prefix = path.resolve()
    builds = {file.parent.name: built(file) for file in sorted(prefix.glob(f"{METADATA}/*/spec.json"))}
    if "fabricbench" not in builds:
        what = "incomplete: it has no fabricbench" if builds else "nothing is installed in it"
        raise BadInput(what, where=str(path), hint=f"run: {INSTALL}")
    nodes = {node.hash: node for node in builds["fabricbench"]}
    for mpi in _mpi_of(builds["fabricbench"][0], nodes):
        place = Path(mpi.external.path) if mpi.external and mpi.external.path else prefix
        packages = {name: nodes[0].hash for name, nodes in builds.items()}
        return View(prefix, mpi, place, {**packages, mpi.name: mpi.hash})
    raise BadInput("its fabricbench was built without MPI", where=str(path), hint=f"run: {INSTALL}")


@cache
def package_of(program: Path) -> Build | None:
    """Returns the Spack package of a program, after resolving links; None if Spack did not build the program."""
    for folder in program.resolve().parents:
        if (file := folder / METADATA / "spec.json").exists():
            return built(file)[0]
    return None


def built(file: Path) -> tuple[Build, ...]:
    """Returns the package of a ``spec.json``, followed by all its dependencies."""
    return _json(_Metadata, file, hint=f"install it anew: {INSTALL}").spec.nodes


def _definitions(node: YamlValue) -> Iterator[tuple[str, YamlValue]]:
    for item in node.sequence("definitions"):
        for name, value in item.mapping("a definition").items():
            if name != "when":
                yield name, value


def _stack(name: str, node: YamlValue, views: Mapping[str, YamlValue]) -> SpackStack:
    specs = node.sequence(name)
    if len(specs) != 1:
        raise node.error(name, "a list of one spec, quoted if it has commas")
    if name not in views:
        raise BadInput(f"no view of the stack '{name}'", where=node.where, expected=f"view: {{{name}: …}}")
    view = views[name].mapping(f"the view {name}", ("root", "select"))
    if set(view) != {"root", "select"}:
        raise BadInput(f"the view {name} is incomplete", where=views[name].where, expected="root and select")
    select = [item.text("select") for item in view["select"].sequence("select")]
    parts = _SELECTED.fullmatch(select[0])
    if parts is None or select[1:] != [f"^{select[0]}"]:
        expected = "the MPI and what is built on it: [NAME KEY=VALUE, ^NAME KEY=VALUE]"
        raise BadInput(f"the view {name} selects {', '.join(select)}", where=view["select"].where, expected=expected)
    spec = specs[0].text(name)
    if re.split(r"[@ +~^%]", spec)[0] != parts["package"]:
        raise BadInput(f"the view {name} selects {parts['package']}", where=view["select"].where, expected=spec)
    return SpackStack(
        name, spec, view["root"].text("root"), parts["package"], parts["variant"] or "", parts["value"] or ""
    )


def _selection(node: YamlValue, stacks: Mapping[str, SpackStack], where: str) -> tuple[str, ...]:
    names = []
    for item in node.sequence(STACKS_LIST):
        name = item.text("a stack").removeprefix("$")
        if name not in stacks:
            raise BadInput(f"'{name}' is not a stack of {where}", where=item.where, expected=nearest(name, stacks))
        names.append(name)
    return tuple(names)


def _mpi_of(build: Build, builds: Mapping[str, Build]) -> Iterator[Build]:
    for dependency in build.dependencies:
        if dependency.is_mpi and dependency.hash in builds:
            yield builds[dependency.hash]


def _json(model: type[_Model], path: Path, *, hint: str) -> _Model:
    try:
        return model.model_validate_json(path.read_bytes())
    except OSError as error:
        what = f"cannot be read: {error.strerror}"
    except ValidationError as error:
        first = error.errors()[0]
        what = f"not Spack's: {'.'.join(map(str, first['loc']))}: {first['msg']}"
    raise BadInput(what, where=str(path), hint=hint)
