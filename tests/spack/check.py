# SPDX-License-Identifier: Apache-2.0
"""Spack's own word on spack.yaml: every stack concretizes, and two real installs run on the right MPI.

``make spack-check`` with SPACK_ROOT set. The two installs, of this project's programs on MPICH and on Open MPI, take
the machine's MPI as externals; everything stays below ``build/spack-check``. Arguments are stacks, in place of all.
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
    """One line for each stack and each install; exit status 1 where one of them fails."""
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
    """Whether one stack with all its benchmarks has a solution, with one build of everything."""
    home = environment(HOME / name, name, {"view": False})
    begin = time.monotonic()
    done = run(spack, home, "concretize", "--force")
    number = len(read_lock(home / "spack.lock").concrete_specs) if done else 0
    return said(name, f"{number} packages", begin, done, home)


def installed(spack: Spack, stack: Stack) -> bool:
    """Whether ``fabricbench ^STACK`` installs on the machine's MPI, its stand-alone tests pass, and its lanes start."""
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
    done = all(run(spack, home, *command) for command in commands)
    detail = external["spec"]
    if done:
        detail, done = started(stack, home)
    return said(f"fabricbench ^{stack.name}", detail, begin, done, home)


def started(stack: Stack, home: Path) -> tuple[str, bool]:
    """What the lanes of a stack set up from its view say of themselves, and whether it is that stack."""
    place = {**os.environ, "FABRICBENCH_BUILD": str(HOME / "build")}
    command = [str(Path(sys.executable).with_name("fabricbench"))]
    lane = f"{stack.name}@tcp"
    said = ""
    for words in (["setup", "--spack", str(HOME / "views"), stack.name], ["doctor", "--lane", lane]):
        done = subprocess.run([*command, *words], env=place, capture_output=True, text=True, check=False)
        if done.returncode:
            return f"{' '.join(words)}: {done.stderr or done.stdout}".strip(), False
        said = done.stdout.strip()
    return said, re.search(LIBRARIES[stack.name], said) is not None


def make_external(stack: Stack) -> dict[str, Any] | None:
    """The machine's MPI as Spack wants it: a prefix of its own, with commands and headers under their plain names."""
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
    (prefix / "include").symlink_to(asked([str(paths["mpicc"]), "-show"], r"-I(\S+)"))
    version = asked([str(paths["mpirun"]), "--version"], r"(\d+(?:\.\d+)+)")
    return {"spec": f"{stack.name}@{version}", "prefix": str(prefix)}


def asked(command: list[str], pattern: str) -> str:
    """The first match of ``pattern`` in what ``command`` prints."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if (found := re.search(pattern, done.stdout)) is None:
        raise BadInput(f"{' '.join(command)} says nothing of its version or headers: {done.stdout[:80]!r}")
    return found[1]


def environment(home: Path, stack: str, changes: dict[str, Any]) -> Path:
    """A copy of spack.yaml for one stack: its paths absolute, its packages unified, what it installs kept apart."""
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
    """One command of Spack's in an environment; what it prints goes to ``log`` there."""
    with (home / "log").open("ab") as log:
        log.write(f"$ spack {' '.join(words)}\n".encode())
        log.flush()
        done = subprocess.run(
            [spack.command, "-e", str(home), *words], stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
            timeout=LIMIT_SECONDS, check=False,
        )  # fmt: skip
    return done.returncode == 0


def said(what: str, detail: str, begin: float, done: bool, home: Path) -> bool:
    """One line for what was tried."""
    word = "ok" if done else f"FAILED, see {home / 'log'}"
    print(f"{what:24}{time.monotonic() - begin:6.0f} s  {word}: {detail}", flush=True)
    return done


if __name__ == "__main__":
    main()
