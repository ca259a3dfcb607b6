# SPDX-License-Identifier: Apache-2.0
"""Recognises the benchmark package of a source tree, and its version, by the contents of its files."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from fabricbench.errors import BadInput

Version = tuple[int, ...]
DEPTH = 3
"""Folders above the root of a package in a tree: a release archive has one or two."""
LARGEST_FILE_BYTES = 2**20


@dataclass(frozen=True, slots=True)
class Package:
    """A package of benchmarks. ``file``, relative to its root, has the version as ``pattern`` finds it.

    ``also``: further files of every tree. ``least`` and ``most`` are the versions that are supported; only as many
    numbers of a version count as the limit has.
    """

    name: str
    title: str
    file: str
    pattern: re.Pattern[str]
    also: tuple[str, ...]
    least: Version
    most: Version

    @property
    def supported(self) -> str:
        """The supported versions as text."""
        least, most = (".".join(map(str, limit)) for limit in (self.least, self.most))
        if self.most >= (9999,):
            return f"{self.title} {least} or newer"
        return f"{self.title} {least}" if least == most else f"{self.title} {least} to {most}"

    def supports(self, version: str) -> bool:
        """Whether a version is supported."""
        numbers = tuple(map(int, re.findall(r"\d+", version)))
        return self.least <= numbers[: len(self.least)] and numbers[: len(self.most)] <= self.most


PACKAGES = {
    package.name: package
    for package in (
        Package(
            "osu", "OSU Micro-Benchmarks", "configure.ac",
            re.compile(r"^AC_INIT\(\[OSU-Micro-Benchmarks\], *\[([\w.-]+)\]", re.M),
            ("Makefile.am",), (5, 3), (7, 5),
        ),
        Package(
            "npb", "NAS Parallel Benchmarks (MPI)", "sys/setparams.c",
            re.compile(r'^#define VERSION "([\d.]+)"', re.M),
            ("MPI_dummy", "IS/is.c", "sys/make.common"), (3, 4, 1), (3, 4, 4),
        ),
        Package(
            "imb", "Intel MPI Benchmarks", "src_c/IMB_g_info.c",
            re.compile(r'^char *\* *VERSION *= *"(20[2-9]\d[\d.]*)"', re.M),
            ("src_cpp/MPI1", "Makefile"), (2021,), (2021,),
        ),
        Package(
            "tau", "TAU", "include/TAU.h.default",
            re.compile(r'^#define\s+TAU_VERSION\s+"([\w.-]+)"', re.M),
            ("configure", "Makefile.skel"), (2, 33), (9999,),
        ),
        Package(
            "gromacs", "GROMACS", "CMakeLists.txt",
            re.compile(r"^project\(Gromacs VERSION (\d[\d.]*)\)", re.M),
            ("cmake/gmxVersionInfo.cmake", "src/gromacs"), (2022,), (9999,),
        ),
    )
}  # fmt: skip
"""The packages by name."""


@dataclass(frozen=True, slots=True)
class SourceTree:
    """A source tree of a package: ``root`` is the folder with its build system."""

    package: Package
    version: str
    root: Path


def recognise(folder: Path) -> SourceTree:
    """Returns the package of a source tree, at the folder or at most ``DEPTH`` folders below it.

    Raises BadInput if there is none, if there are several, or if its version is not supported.
    """
    for level in _levels(folder):
        trees = [tree for root in level for tree in _packages_at(root)]
        if len(trees) > 1:
            names = ", ".join(f"{tree.package.title} {tree.version} in {tree.root}" for tree in trees[:4])
            raise BadInput(f"several packages: {names}", where=str(folder), hint="name one of these folders")
        for tree in trees:
            if not tree.package.supports(tree.version):
                what = f"version {tree.version} of {tree.package.title} is not supported"
                raise BadInput(what, where=str(tree.root), expected=tree.package.supported)
            return tree
    titles = "; ".join(package.supported for package in PACKAGES.values())
    raise BadInput("no source tree of a known package", where=str(folder), expected=titles)


def _levels(folder: Path) -> Iterator[list[Path]]:
    """Yields the folder, then the folders in it, and so on."""
    level = [folder]
    for _ in range(DEPTH + 1):
        yield level
        level = sorted(chain.from_iterable(map(_folders, level)))


def _folders(folder: Path) -> list[Path]:
    try:
        return [path for path in folder.iterdir() if path.is_dir() and not path.is_symlink() and path.name != ".git"]
    except OSError:
        return []


def _packages_at(root: Path) -> Iterator[SourceTree]:
    for package in PACKAGES.values():
        try:
            if not all((root / name).exists() for name in (package.file, *package.also)):
                continue
            with (root / package.file).open(encoding="utf-8", errors="replace") as stream:
                text = stream.read(LARGEST_FILE_BYTES)
        except OSError:  # a folder that the user may not read
            continue
        if match := package.pattern.search(text):
            yield SourceTree(package, match[1], root)
