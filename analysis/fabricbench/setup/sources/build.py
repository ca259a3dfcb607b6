# SPDX-License-Identifier: Apache-2.0
"""Builds a package on one stack, in a copy of its source tree, by the commands of its build description."""

import hashlib
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from fabricbench.errors import BadInput
from fabricbench.files.writing import write_json
from fabricbench.processes.external_programs import run_logged
from fabricbench.setup.probe import lane_environment
from fabricbench.setup.record import Say
from fabricbench.setup.sources.built import other_library, program_of
from fabricbench.setup.sources.description import (
    CompilerFlag,
    Description,
    Generated,
    combinations,
    command_of,
    description_file,
    filled,
)  # fmt: skip
from fabricbench.setup.sources.entries import BUILT, FOLDER, mpi_identity, read_build
from fabricbench.setup.sources.recognise import SourceTree
from fabricbench.site.stacks import Installed, SourceBuild, Stack
from fabricbench.site.targets import NATIVE, Target

LOG = "build.log"
LIMIT_SECONDS = 60
KEY_LENGTH = 16
PRODUCTS = ("*.o", "*.lo", "*.mod")
"""Files that compilers leave in a source tree; no package has such files of its own."""
_PROGRAMS = {"mpif90": (".f90", "end\n")}
_TARGET = "{target}"
_C_PROGRAM = (".c", "int main(void) { return 0; }\n")


@dataclass(frozen=True, slots=True)
class Order:
    """A package to build: its tree, its build description, the user's options, and the user's path of it.

    ``digest`` is that of the tree's files.
    """

    tree: SourceTree
    description: Description
    options: Mapping[str, str]
    origin: str
    digest: str

    @property
    def package(self) -> str:
        """The name of the package."""
        return self.tree.package.name

    @property
    def title(self) -> str:
        """The name of the package for people, and its version."""
        return f"{self.tree.package.title} {self.tree.version}"


def tree_digest(root: Path) -> str:
    """Returns the digest of the paths and contents of all files of a tree, without a repository of git in it."""
    digest = hashlib.sha256()
    for path in sorted(_files(root)):
        name = str(path.relative_to(root)).encode(errors="surrogateescape")
        content = os.readlink(path).encode() if path.is_symlink() else hashlib.sha256(path.read_bytes()).digest()
        mode = b"x" if not path.is_symlink() and os.access(path, os.X_OK) else b"-"
        digest.update(len(name).to_bytes(4, "big") + name + mode + content)
    return digest.hexdigest()


def _files(root: Path) -> Iterator[Path]:
    for place, folders, names in os.walk(root):
        if ".git" in folders:
            folders.remove(".git")
        paths = [Path(place, name) for name in (*names, *folders)]
        yield from (path for path in paths if path.is_symlink() or path.is_file())


def build_on(stack: Stack, installed: Installed, order: Order, home: Path, say: Say) -> SourceBuild:
    """Builds a package on a stack, unless that is done already; ``home`` is the folder of the stack.

    Raises BadInput if the stack lacks a compiler, or with the last lines of the command that failed. The last complete
    build then stays in use.
    """
    place, identity = home / FOLDER / order.package, mpi_identity(installed)
    order, target = _for_target(order, installed.target)
    facts = [order.digest, order.description.model_dump(mode="json"), dict(order.options), identity]
    key = hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:KEY_LENGTH]
    current, _ = read_build(home, order.package)
    if current is not None and current.key == key and not _missing(order.description, Path(current.prefix)):
        say(f"{order.title} is up to date on {stack.name}")
        return current
    for name in order.description.needs:
        if not Path(installed.prefix, "bin", name).exists():
            hint = "install a Fortran compiler and set the stack up again" if name == "mpif90" else ""
            raise BadInput(f"the stack has no {name}", hint=hint)
    say(f"building {order.title} on {stack.name}")
    work = place / key
    shutil.rmtree(work, ignore_errors=True)
    _copy(order, work / "tree")
    (work / "prefix").mkdir()
    (place / LOG).write_bytes(b"")
    _Build(stack, installed, order, work, place / LOG).run()
    program = program_of(order.package, work / "prefix")
    if program and (difference := other_library(program, stack, installed)):
        raise BadInput(f"{order.title} was built with another MPI: {difference}", where=str(place / LOG))
    build = SourceBuild(
        package=order.package, version=order.tree.version, prefix=str(work / "prefix"), origin=order.origin,
        options=dict(order.options), key=key, target=target,
    )  # fmt: skip
    enter(place, build, identity)
    shutil.rmtree(work / "tree", ignore_errors=True)
    return build


def _copy(order: Order, target: Path) -> None:
    """Copies a source tree without what an earlier build left in it, which make would take for up to date."""
    products = shutil.ignore_patterns(*PRODUCTS, *order.description.products)

    def ignored(folder: str, names: list[str]) -> set[str]:
        files = [name for name in names if not Path(folder, name).is_dir()]
        return (set(products(folder, files)) | {".git"}) & set(names)

    shutil.copytree(order.tree.root, target, symlinks=True, ignore=ignored)


def _for_target(order: Order, target: Target | None) -> tuple[Order, Target | None]:
    """Returns the order with the stack's target in place of ``{target}`` in its options; None if no option has it."""
    if not any(_TARGET in text for text in order.options.values()):
        return order, None
    name = target.name if target else NATIVE
    return replace(order, options={key: text.replace(_TARGET, name) for key, text in order.options.items()}), target


def enter(place: Path, build: SourceBuild, identity: str) -> None:
    """Records a complete build in the folder of its package, and removes earlier builds."""
    place.mkdir(parents=True, exist_ok=True)
    write_json(place / BUILT, {"build": build.model_dump(mode="json"), "mpi": identity})
    for folder in place.glob("*/"):
        if folder.name != build.key:
            shutil.rmtree(folder, ignore_errors=True)


@dataclass(frozen=True, slots=True)
class _Build:
    stack: Stack
    installed: Installed
    order: Order
    work: Path
    log: Path

    @property
    def tree(self) -> Path:
        return self.work / "tree"

    @property
    def prefix(self) -> Path:
        return self.work / "prefix"

    def run(self) -> None:
        """Runs all steps, and installs. Raises BadInput for the first that fails."""
        description, package = self.order.description, self.order.package
        if description.generated is not None:
            self._generate(description.generated)
        values = self._values()
        for name, text in description.files.items():
            self._inside(name).parent.mkdir(parents=True, exist_ok=True)
            self._inside(name).write_text(filled(text, values, package))
        for step in description.steps:
            for combination in combinations(step, values, package):
                environment = {k: filled(v, combination, package) for k, v in step.environment.items()}
                folder = self._inside(filled(step.folder, combination, package))
                folder.mkdir(parents=True, exist_ok=True)
                self._command(command_of(step, combination, package), folder, environment)
        self._install(values)
        if missing := _missing(description, self.prefix):
            raise BadInput(f"the build ended without {missing}", where=str(self.log))

    def _values(self) -> dict[str, str]:
        """The values of ``{name}`` in a build description."""
        flags = self.order.description.compiler_flags
        return {
            "stack": self.stack.name,
            "version": self.order.tree.version,
            "mpi": self.installed.prefix,
            "tree": str(self.tree),
            "prefix": str(self.prefix),
            "jobs": str(len(os.sched_getaffinity(0))),
            **{name: f"{self.installed.prefix}/bin/{name}" for name in ("mpicc", "mpicxx", "mpif90")},
            **{name: flag.flag if self._accepts(flag) else "" for name, flag in flags.items()},
            **self.order.options,
        }

    def _environment(self) -> dict[str, str]:
        """The stack's variables for its compilers, without options of a make that started this process."""
        variables = self.stack.environment_at(self.installed.prefix)
        return lane_environment(self.installed, variables) | {"MAKEFLAGS": ""}

    def _command(self, argv: list[str], folder: Path, environment: Mapping[str, str]) -> None:
        what = f"building {self.order.title}: {' '.join(argv[:3])}"
        run_logged(argv, self.log, what=what, environment=self._environment() | dict(environment), folder=folder)

    def _accepts(self, flag: CompilerFlag) -> bool:
        suffix, program = _PROGRAMS.get(flag.compiler, _C_PROGRAM)
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder, f"flag{suffix}")
            source.write_text(program)
            argv = [f"{self.installed.prefix}/bin/{flag.compiler}", flag.flag, "-c", source.name]
            try:
                outcome = subprocess.run(
                    argv, cwd=folder, env=self._environment(), stdin=subprocess.DEVNULL, capture_output=True,
                    timeout=LIMIT_SECONDS, check=False,
                )  # fmt: skip
            except (OSError, subprocess.TimeoutExpired):
                return False
        return outcome.returncode == 0

    def _generate(self, generated: Generated) -> None:
        if (self.tree / generated.file).exists():
            return
        missing = [tool for tool in generated.tools if shutil.which(tool) is None]
        if missing:
            raise BadInput(
                f"the tree has no {generated.file}: it is a checkout, not a release", where=self.order.origin,
                hint=f"install {' and '.join(missing)} to generate it, or name the release archive",
            )  # fmt: skip
        self._command(list(generated.command), self.tree, {})

    def _inside(self, name: str) -> Path:
        """The path of a file of the copied tree; raises BadInput for one outside."""
        path = (self.tree / name).resolve()
        if not path.is_relative_to(self.tree.resolve()):
            where = str(description_file(self.order.package))
            raise BadInput(f"'{name}' lies outside the source tree", where=where)
        return path

    def _install(self, values: Mapping[str, str]) -> None:
        for copied in self.order.description.install:
            target = self.prefix / filled(copied.to, values, self.order.package)
            target.mkdir(parents=True, exist_ok=True)
            for file in sorted(self.tree.glob(filled(copied.files, values, self.order.package))):
                shutil.copy2(file, target / file.name)


def _missing(description: Description, prefix: Path) -> str:
    """The first pattern of ``provides`` that no file of the prefix matches; empty if all do."""
    return next((pattern for pattern in description.provides if not any(prefix.glob(pattern))), "")
