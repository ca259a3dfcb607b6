# SPDX-License-Identifier: Apache-2.0
"""``fabricbench setup --source``: recognises the user's archives and folders, and builds them on each stack."""

import hashlib
import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from fabricbench.errors import BadInput, nearest
from fabricbench.files.writing import write_json
from fabricbench.setup.lock import sole_set_up
from fabricbench.setup.record import Say
from fabricbench.setup.sources.archive import unpack
from fabricbench.setup.sources.build import Order, build_on, enter, tree_digest
from fabricbench.setup.sources.built import InstalledTree, entry_of, installed_tree
from fabricbench.setup.sources.description import chosen_options, read_description
from fabricbench.setup.sources.entries import FOLDER, mpi_identity, with_sources
from fabricbench.setup.sources.recognise import PACKAGES, recognise
from fabricbench.site.settings import build_root
from fabricbench.site.stacks import STACK_FILE, Installed, Stack, read_installed

_OPTION = re.compile(r"([a-z]+)\.([a-z][a-z0-9_]*)=(.*)", re.S)
Options = Mapping[str, Mapping[str, str]]
"""The options that the user has chosen, by package and name."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The number of packages that are entered in a stack, and the problems of the others, one line each."""

    entered: int
    problems: tuple[str, ...]


def parsed_options(texts: Sequence[str]) -> Options:
    """Returns the options ``PACKAGE.NAME=VALUE``; raises BadInput for any other text."""
    options: dict[str, dict[str, str]] = {}
    for text in texts:
        match = _OPTION.fullmatch(text)
        if match is None:
            raise BadInput(f"'{text[:80]}'", where="--option", expected="PACKAGE.NAME=VALUE, as in npb.classes='S W'")
        if match[1] not in PACKAGES:
            raise BadInput(f"unknown package '{match[1]}'", where="--option", expected=nearest(match[1], PACKAGES))
        options.setdefault(match[1], {})[match[2]] = match[3]
    return options


def set_up_sources(
    stacks: Sequence[Stack], paths: Sequence[Path], options: Options, say: Say, *, all_stacks: bool
) -> Outcome:
    """Builds the packages at ``paths`` on the stacks that are set up, and enters them in their records.

    ``all_stacks``: the user has named no stacks; those that are not set up, and those with another MPI library than an
    installed package, are left out.
    """
    root = build_root()
    root.mkdir(parents=True, exist_ok=True)
    problems: list[str] = []
    with sole_set_up(root, say):
        installed, missing = _set_up_stacks(stacks, root)
        problems += [] if all_stacks and installed else missing
        entered = 0
        packages: set[str] = set()
        for path in paths:
            try:
                with _recognised(path, root, options) as source:
                    name = source.package if isinstance(source, Order) else source.package.name
                    if name in packages:
                        raise BadInput(f"a second source of {name}", where=str(path), hint="name one of them")
                    packages.add(name)
                    done, failed = _on_each(source, installed, root, say, all_stacks=all_stacks)
                    entered += done
                    problems += failed
            except BadInput as error:
                problems.append(str(error))
    for package in sorted(set(options) - packages):
        problems.append(f"--option {package}.…: no source of {PACKAGES[package].title} is named, so it has no effect")
    return Outcome(entered, tuple(problems))


def _set_up_stacks(stacks: Sequence[Stack], root: Path) -> tuple[list[Stack], list[str]]:
    """The MPI stacks among these that are set up, and the problems of the others."""
    ready, problems = [], []
    for stack in stacks:
        if stack.level != "mpi":
            problems.append(f"{stack.name}: it is a library below MPI")
        elif read_installed(root / "stacks" / stack.name / STACK_FILE) is None:
            problems.append(f"{stack.name}: it is not set up; run: {stack.set_up_command}")
        else:
            ready.append(stack)
    return ready, problems


@contextmanager
def _recognised(path: Path, root: Path, options: Options) -> Iterator[Order | InstalledTree]:
    """Yields the package at a path: a source tree with its build description, or an installed package.

    An archive is unpacked below ``root`` and removed at the end.
    """
    path = Path(os.path.abspath(path.expanduser()))
    if path.is_dir():
        built = None if _is_source_tree(path) else installed_tree(path)
        yield built or _order(path, path, options)
        return
    if not path.is_file():
        raise BadInput("no such file or folder", where=str(path), expected="an archive or a source tree")
    folder = root / "unpacked"
    shutil.rmtree(folder, ignore_errors=True)
    try:
        unpack(path, folder)
        yield _order(folder, path, options)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _is_source_tree(folder: Path) -> bool:
    """Whether a folder is a source tree, even if the user has built it too."""
    try:
        recognise(folder)
    except BadInput:
        return False
    return True


def _order(folder: Path, path: Path, options: Options) -> Order:
    try:
        tree = recognise(folder)
    except BadInput as error:  # the user knows the archive, not the folder
        where = str(path) if error.where == str(folder) else error.where.replace(str(folder), f"{path}:", 1)
        raise BadInput(error.what, where=where, expected=error.expected, hint=error.hint) from None
    name = tree.package.name
    description = read_description(name)
    chosen = chosen_options(description, name, options.get(name, {}))
    return Order(tree, description, chosen, str(path), tree_digest(tree.root))


def _on_each(
    source: Order | InstalledTree, stacks: Sequence[Stack], root: Path, say: Say, *, all_stacks: bool
) -> tuple[int, list[str]]:
    """Enters a package in each stack. Returns the number of stacks, and the problems of the others."""
    done, problems = 0, []
    for stack in stacks:
        home = root / "stacks" / stack.name
        try:
            _enter(source, stack, home, say)
            done += 1
        except BadInput as error:
            problems.append(f"{stack.name}: {error}")
    is_for_some = all_stacks and isinstance(source, InstalledTree) and done
    return done, [] if is_for_some else problems


def _enter(source: Order | InstalledTree, stack: Stack, home: Path, say: Say) -> None:
    installed = read_installed(home / STACK_FILE)
    assert installed is not None, "stacks that are not set up are left out"
    if isinstance(source, Order):
        build = build_on(stack, installed, source, home, say)
    else:
        build = entry_of(source, stack, installed)
        key = hashlib.sha256(f"{build.prefix}\0{mpi_identity(installed)}".encode()).hexdigest()[:16]
        build = build.model_copy(update={"key": key})
        enter(home / FOLDER / build.package, build, mpi_identity(installed))
    if installed.sources.get(build.package) != build:
        _record(stack, installed, home)
        say(f"{build.package} {build.version} is ready on {stack.name}: {build.prefix}".replace("  ", " "))


def _record(stack: Stack, installed: Installed, home: Path) -> None:
    changed = with_sources(installed, stack, home)
    write_json(home / STACK_FILE, changed.model_dump(mode="json"))
