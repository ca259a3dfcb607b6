# SPDX-License-Identifier: Apache-2.0
"""Imitates the files of Spack: packages with their ``spec.json``, a view of them, a ``spack.lock``."""

import json
import shutil
from pathlib import Path
from typing import Any

HASHES = {"mpich": "m" * 32, "fabricbench": "f" * 32, "osu-micro-benchmarks": "o" * 32, "gromacs": "g" * 32}


def node(name: str, mpi: str = "mpich", external: Path | None = None, **changes: Any) -> dict[str, Any]:
    """A package in Spack's files. Every package except ``mpi`` depends on ``mpi``."""
    edge = {
        "name": mpi,
        "hash": HASHES["mpich"],
        "parameters": {"deptypes": ["build", "link"], "virtuals": ["mpi"]},
    }
    facts = {
        "name": name,
        "version": "1.0",
        "hash": HASHES[name],
        "parameters": {"device": "ch4", "netmod": "ucx", "fabrics": ["ucx"]} if name == mpi else {},
        "dependencies": [] if name == mpi else [edge],
    }
    return facts | ({"external": {"path": str(external), "module": None}} if external else {}) | changes


def lock(*names: str, nodes: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    """A ``spack.lock`` whose roots are ``names``, each on MPICH."""
    concrete = nodes or [node("mpich"), *map(node, names)]
    return {
        "_meta": {"file-type": "spack-lockfile", "lockfile-version": 6, "specfile-version": 5},
        "roots": [{"hash": item["hash"], "spec": item["name"]} for item in concrete if item["dependencies"]],
        "concrete_specs": {item["hash"]: item for item in concrete},
    }


def package(store: Path, name: str, external_mpi: Path | None = None) -> Path:
    """A package's prefix in Spack's store, which contains Spack's metadata only."""
    prefix = store / f"{name}-1.0-{HASHES[name]}"
    (prefix / ".spack").mkdir(parents=True)
    nodes = [node(name)] if name == "mpich" else [node(name), node("mpich", external=external_mpi)]
    (prefix / ".spack/spec.json").write_text(json.dumps({"spec": {"_meta": {"version": 5}, "nodes": nodes}}))
    return prefix


def view(root: Path, *prefixes: Path) -> Path:
    """Makes a view in Spack's layout: a link to a directory of links, with the packages' ``.spack`` by name."""
    real = root.parent / f"._{root.name}" / "abc"
    for prefix in prefixes:
        name = next(name for name in HASHES if prefix.name.startswith(f"{name}-"))
        (real / ".spack").mkdir(parents=True, exist_ok=True)
        (real / ".spack" / name).symlink_to(prefix / ".spack")
        for file in prefix.rglob("*"):
            place = real / file.relative_to(prefix)
            if file.is_file() and ".spack" not in file.parts:
                place.parent.mkdir(parents=True, exist_ok=True)
                place.symlink_to(file)
    root.symlink_to(real)
    return root


def programs(prefix: Path, source: Path) -> None:
    """Copies programs into a package."""
    shutil.copytree(source, prefix, dirs_exist_ok=True)
