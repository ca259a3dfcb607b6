# SPDX-License-Identifier: Apache-2.0
"""Checks spack.yaml with Spack: every stack concretizes, and two real installs run on their own MPI.

``make spack-check`` with SPACK_ROOT set. The two installs build this project's programs on MPICH and
on Open MPI, with the machine's MPI as externals. All files are below ``build/spack-check``. The arguments select
stacks; the default is all stacks.
"""

import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from fabricbench.errors import BadInput
from fabricbench.setup.spack import Spack, find_spack
from fabricbench.site.settings import REPOSITORY, build_root
from fabricbench.site.spack import STACKS_LIST, read_environment, read_lock
from fabricbench.site.stacks import Stack, site_stacks

HOME = build_root() / "spack-check"
LIBRARIES = {"mpich": r"\bMPICH\b", "openmpi": r"\bOpen MPI\b"}
"""Stacks that are installed on the machine's MPI, and what their libraries call themselves."""
LIMIT_SECONDS = 3600


def main() -> None:
    """Prints one line for each stack and each install. The exit status is 1 if one of them fails."""
    failed = []
    try:
        spack = find_spack()
        names = sys.argv[1:] or list(read_environment(REPOSITORY / "spack.yaml").stacks)
        print(f"Spack {spack.version} in {spack.root}", flush=True)
        for name in names:
            failed += [name] * (not concretized(spack, name))
        for name in LIBRARIES:
            failed += [name] * (not installed(spack, site_stacks(REPOSITORY / "site")[name]))
    except BadInput as error:
        print(f"spack-check: {error}", file=sys.stderr)
        sys.exit(2)
    print(f"failed: {', '.join(failed)}" if failed else "every stack concretizes, both installs run", flush=True)
    sys.exit(bool(failed))


def concretized(spack: Spack, name: str) -> bool:
    """Returns whether Spack finds a solution for one stack and its benchmarks with one build of each package."""
    home = environment(HOME / name, name, {"view": False})
    begin = time.monotonic()
    result = run(spack, home, "concretize", "--force")
    number = len(read_lock(home / "spack.lock").concrete_specs) if result else 0
    return report(name, f"{number} packages", begin, result, home)


def installed(spack: Spack, stack: Stack) -> bool:
    """Installs ``fabricbench ^STACK`` on the machine's MPI, runs its stand-alone tests and starts its lanes."""
    external = make_external(stack)
    if external is None:
        print(f"fabricbench ^{stack.name}: not tried, this machine has no {stack.name}", flush=True)
        return True
    changes = {
        "specs": [f"fabricbench ^{stack.name}"],
        "packages": {stack.name: {"buildable": False, "externals": [external]}},
        "view": {stack.name: {"root": str(HOME / "views" / stack.name)}},
    }
    home = environment(HOME / f"install-{stack.name}", stack.name, changes)
    begin = time.monotonic()
    commands = (
        *(("external", "find", "cmake", "gmake"), ("concretize", "--force")),
        *(("install", "--fail-fast"), ("test", "run", "fabricbench")),
    )
    success = all(run(spack, home, *command) for command in commands)
    detail = external["spec"]
    if success:
        detail, success = lanes_run(stack, home)
    return report(f"fabricbench ^{stack.name}", detail, begin, success, home)


def lanes_run(stack: Stack, home: Path) -> tuple[str, bool]:
    """Sets up a stack from its view; returns the doctor's output for its lane, and whether it names the right MPI."""
    place = {**os.environ, "FABRICBENCH_BUILD": str(HOME / "build")}
    command = [str(Path(sys.executable).with_name("fabricbench"))]
    lane = f"{stack.name}@tcp"
    output = ""
    for words in (["setup", "--spack", str(HOME / "views"), stack.name], ["doctor", "--lane", lane]):
        result = subprocess.run([*command, *words], env=place, capture_output=True, text=True, check=False)
        if result.returncode:
            return f"{' '.join(words)}: {result.stderr or result.stdout}".strip(), False
        output = result.stdout.strip()
    return output, re.search(LIBRARIES[stack.name], output) is not None


def make_external(stack: Stack) -> dict[str, Any] | None:
    """Makes a prefix for the machine's MPI with the command and header names that Spack expects of an external."""
    assert stack.debian is not None
    paths = {role: shutil.which(command) for role, command in stack.debian.commands.items()}
    if None in paths.values():
        return None
    prefix = HOME / "externals" / stack.name
    (prefix / "bin").mkdir(parents=True, exist_ok=True)
    for role, path in {**paths, "mpiexec": paths["mpirun"], "mpic++": paths["mpicxx"]}.items():
        script = prefix / "bin" / role
        script.write_text(f'#!/bin/sh\nexec "{path}" "$@"\n')
        script.chmod(0o755)
    (prefix / "include").unlink(missing_ok=True)
    (prefix / "include").symlink_to(first_match([str(paths["mpicc"]), "-show"], r"-I(\S+)"))
    version = first_match([str(paths["mpirun"]), "--version"], r"(\d+(?:\.\d+)+)")
    return {"spec": f"{stack.name}@{version}", "prefix": str(prefix)}


def first_match(command: list[str], pattern: str) -> str:
    """Returns the first match of ``pattern`` in the output of ``command``."""
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if (match := re.search(pattern, result.stdout)) is None:
        raise BadInput(f"{' '.join(command)} prints no version or headers: {result.stdout[:80]!r}")
    return match[1]


def environment(home: Path, stack: str, changes: dict[str, Any]) -> Path:
    """Makes a copy of spack.yaml for one stack, with absolute paths, unified packages and a separate install tree."""
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    yaml = YAML(typ="safe")
    text = yaml.load((REPOSITORY / "spack.yaml").read_text())["spack"]
    del text["include"]
    text["definitions"] = [item for item in text["definitions"] if STACKS_LIST not in item]
    text["definitions"].insert(-1, {STACKS_LIST: [f"${stack}"]})
    text["repos"] = {name: str(REPOSITORY / path) for name, path in text["repos"].items()}
    text["develop"]["fabricbench"]["path"] = str(REPOSITORY)
    text["config"]["install_tree"] = {"root": str(HOME / "store")}
    text["concretizer"] = {"unify": True}
    with (home / "spack.yaml").open("w") as stream:
        yaml.dump({"spack": text | changes}, stream)
    return home


def run(spack: Spack, home: Path, *words: str) -> bool:
    """Runs one Spack command in an environment and appends its output to ``log``; returns whether it succeeds."""
    with (home / "log").open("ab") as log:
        log.write(f"$ spack {' '.join(words)}\n".encode())
        log.flush()
        result = subprocess.run(
            [spack.command, "-e", str(home), *words], stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
            timeout=LIMIT_SECONDS, check=False,
        )  # fmt: skip
    return result.returncode == 0


def report(what: str, detail: str, begin: float, success: bool, home: Path) -> bool:
    """Prints one line with the result of a step."""
    word = "ok" if success else f"FAILED, see {home / 'log'}"
    print(f"{what:24}{time.monotonic() - begin:6.0f} s  {word}: {detail}", flush=True)
    return success


if __name__ == "__main__":
    main()
