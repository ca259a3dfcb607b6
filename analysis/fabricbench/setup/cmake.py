# SPDX-License-Identifier: Apache-2.0
"""Builds the benchmarks with CMake, incrementally: a build after a change compiles the changed files only."""

import hashlib
import json
import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from fabricbench.errors import BadInput
from fabricbench.files.writing import write_json
from fabricbench.processes.external_programs import run_logged
from fabricbench.site.settings import REPOSITORY

CONFIGURED = "fabricbench-configured.json"
"""File in a build tree with the options of its configuration. It is written after CMake has configured the tree."""
SOURCES = "fabricbench-sources.json"
"""File in a build tree with the digests of the sources, taken before its last configuration and build."""
UNFINISHED = "fabricbench-unfinished"
"""File in a build tree that exists while a build runs, or after it was killed."""
PARTIAL_SECONDS = 10.0
"""Outputs that an interrupted build wrote within this time before its last one may be incomplete."""
_OUTPUTS = (".a", ".mod", ".o", ".so")


def build_apps(
    home: Path, options: Mapping[str, str], *, source: Path, environment: Mapping[str, str] | None = None
) -> None:
    """Builds ``source`` in ``home/build`` and installs it in ``home/apps``. A BadInput has the last lines of the log.

    ``environment``: variables that are added to those of this process.
    The tree is configured anew if its options differ from those of its last configuration, and if a source has
    changed that make would not compile again, because its time stamp is older than the end of the last build.
    """
    log, tree = home / "setup.log", home / "build"
    cmake = shutil.which("cmake") or str(Path(sys.executable).with_name("cmake"))
    defaults = {
        "CMAKE_INSTALL_PREFIX": str(home / "apps"),
        "CMAKE_INSTALL_LIBDIR": "lib",
        "CMAKE_BUILD_TYPE": "Release",
    }
    environment = {"I_MPI_ROOT": str(home / "prefix"), **(environment or {})}
    configure = [cmake, "-S", str(source), "-B", str(tree)]
    configure += [f"-D{key}={value}" for key, value in {**options, **defaults}.items()]
    digests = source_digests(source)
    if _read(tree / CONFIGURED) != configure or _has_older_change(tree, source, digests):
        shutil.rmtree(tree, ignore_errors=True)
        run_logged(configure, log, what="configuring", environment=environment)
    write_json(tree / SOURCES, digests)
    write_json(tree / CONFIGURED, configure)
    if (tree / UNFINISHED).exists():
        _remove_partial_outputs(tree)
    (tree / UNFINISHED).touch()
    build = [cmake, "--build", str(tree), "-j", str(os.cpu_count() or 1)]
    try:
        run_logged(build, log, what="building", environment=environment)
    except BadInput:  # the compiler has removed its incomplete outputs
        (tree / UNFINISHED).unlink(missing_ok=True)
        raise
    (tree / UNFINISHED).unlink()
    # Without this variable, CMake keeps an installed file whose time stamp differs by less than a second.
    run_logged([cmake, "--install", str(tree)], log, what="installing", environment={"CMAKE_INSTALL_ALWAYS": "1"})


def source_digests(*folders: Path) -> dict[str, str]:
    """SHA-256 of every file below the folders, by its path, relative to the repository if it is inside."""
    files = sorted(path for folder in folders for path in folder.rglob("*") if path.is_file())
    return {
        str(path.relative_to(REPOSITORY) if path.is_relative_to(REPOSITORY) else path): _digest(path) for path in files
    }


def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _has_older_change(tree: Path, source: Path, digests: Mapping[str, str]) -> bool:
    """Whether a source differs from that of the last build, but its time stamp is not newer than every file it wrote.

    A source that was edited during the build is such a file: its object may be newer, and hold the earlier content.
    """
    earlier = _read(tree / SOURCES)
    if not isinstance(earlier, dict):
        return True
    changed = [REPOSITORY / name for name, digest in digests.items() if earlier.get(name) != digest]
    if not changed:
        return False
    end = max(path.stat().st_mtime_ns for path in tree.rglob("*") if path.is_file())
    return any(path.stat().st_mtime_ns <= end for path in changed)


def _remove_partial_outputs(tree: Path) -> None:
    """Removes the outputs that a killed compiler or linker may have left incomplete: those written last."""
    outputs = [path for path in tree.rglob("*") if path.is_file() and _is_output(path)]
    times = {path: path.stat().st_mtime for path in outputs}
    last = max(times.values(), default=0.0)
    for path, time in times.items():
        if time >= last - PARTIAL_SECONDS:
            path.unlink()


def _is_output(path: Path) -> bool:
    return path.suffix in _OUTPUTS or (path.suffix == "" and os.access(path, os.X_OK))


def _read(file: Path) -> object:
    """The JSON of a file; None if it is missing or broken."""
    try:
        content: object = json.loads(file.read_bytes())
    except (OSError, ValueError):
        return None
    return content
