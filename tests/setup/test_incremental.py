# SPDX-License-Identifier: Apache-2.0
"""A second set-up compiles what has changed, and continues one that was interrupted. Compiler calls are counted."""

import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from fabricbench.errors import BadInput
from fabricbench.setup import cmake, prefix, stacks
from fabricbench.setup.cmake import build_apps
from fabricbench.setup.prefix import provide_prefix
from fabricbench.site.settings import REPOSITORY
from fabricbench.site.stacks import Stack, read_installed

PROJECT = """\
cmake_minimum_required(VERSION 3.22)
project(tiny LANGUAGES C)
add_executable(tiny main.c greeting.c)
install(TARGETS tiny)
"""
GREETING = '#include "greeting.h"\nint greeting(void) { return NUMBER; }\n'


@dataclass(frozen=True)
class Tree:
    """A tiny source tree, and the file that counts the compiler's calls."""

    source: Path
    home: Path
    calls: Path

    def compiled(self) -> list[str]:
        """The names of the sources compiled since the last call."""
        lines = self.calls.read_text().splitlines() if self.calls.exists() else []
        self.calls.unlink(missing_ok=True)
        files = [Path(line.split(" -c ")[1]) for line in lines if " -c " in line]
        return sorted(file.name for file in files if file.is_relative_to(self.source))  # CMake compiles its own tests

    def build(self, **options: str) -> list[str]:
        """The names of the sources that a build compiles."""
        build_apps(self.home, options, source=self.source)
        return self.compiled()

    @property
    def program(self) -> Path:
        return self.home / "apps/bin/tiny"


@pytest.fixture
def launcher(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file that receives a line for each call of the C or C++ compiler."""
    if not shutil.which("cmake") or not shutil.which("cc"):
        pytest.skip("needs cmake and a C compiler")
    calls, script = tmp_path / "calls", tmp_path / "launcher"
    script.write_text(f'#!/bin/sh\necho "$*" >> "{calls}"\nexec "$@"\n')
    script.chmod(0o755)
    for language in ("C", "CXX"):
        monkeypatch.setenv(f"CMAKE_{language}_COMPILER_LAUNCHER", str(script))
    return calls


@pytest.fixture
def tree(tmp_path: Path, launcher: Path) -> Tree:
    source, home = tmp_path / "source", tmp_path / "home"
    source.mkdir()
    home.mkdir()
    (source / "CMakeLists.txt").write_text(PROJECT)
    (source / "main.c").write_text("int greeting(void);\nint main(void) { return greeting(); }\n")
    (source / "greeting.c").write_text(GREETING)
    (source / "greeting.h").write_text("#define NUMBER 3\n")
    tree = Tree(source, home, launcher)
    assert tree.build() == ["greeting.c", "main.c"]
    return tree


def status(tree: Tree) -> int:
    return subprocess.run([tree.program], check=False).returncode


def test_a_changed_file_is_compiled_and_no_other(tree: Tree) -> None:
    assert tree.build() == []
    (tree.source / "greeting.h").write_text("#define NUMBER 4\n")
    assert tree.build() == ["greeting.c"]
    assert status(tree) == 4
    (tree.source / "main.c").write_text("int main(void) { return 5; }\n")
    assert tree.build() == ["main.c"]
    assert status(tree) == 5


def test_a_changed_option_configures_anew(tree: Tree) -> None:
    assert tree.build(CMAKE_C_FLAGS="-DNDEBUG") == ["greeting.c", "main.c"]
    assert tree.build(CMAKE_C_FLAGS="-DNDEBUG") == []


def test_a_changed_file_with_an_old_time_stamp_is_compiled(tree: Tree) -> None:
    """Copies and archives keep time stamps, so make would not rebuild the object."""
    (tree.source / "greeting.h").write_text("#define NUMBER 6\n")
    os.utime(tree.source / "greeting.h", (0, 0))
    assert "greeting.c" in tree.build()
    assert status(tree) == 6


def test_a_tree_with_broken_digests_is_built_anew(tree: Tree) -> None:
    (tree.home / "build" / cmake.SOURCES).write_text("{")
    (tree.source / "greeting.h").write_text("#define NUMBER 6\n")
    os.utime(tree.source / "greeting.h", (0, 0))
    tree.build()
    assert status(tree) == 6


def test_a_file_that_changes_during_a_build_is_compiled_by_the_next(tree: Tree) -> None:
    """Its object is newer than the change, and was compiled from the earlier content."""
    edit = f'echo "#define NUMBER 7" > "{tree.source}/greeting.h"; sleep 0.1'
    slow = tree.source.parent / "slow"
    slow.write_text(f"""#!/bin/sh
"$@" || exit
case "$*" in *"-c {tree.source}/greeting.c")
    {edit}
    while [ "$1" != -o ]; do shift; done
    touch "$2"
    ;;
esac
""")
    slow.chmod(0o755)
    (tree.source / "greeting.c").write_text(GREETING + "/* changed */\n")
    changed = {"CMAKE_C_COMPILER_LAUNCHER": str(slow)}
    tree.build(**changed)
    slow.write_text('#!/bin/sh\nexec "$@"\n')
    tree.build(**changed)
    assert status(tree) == 7


def test_a_killed_build_continues_without_its_partial_output(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    """The object that was written last is incomplete; the other is kept."""
    monkeypatch.setattr(cmake, "PARTIAL_SECONDS", 0.0)
    (tree.home / "build" / cmake.UNFINISHED).touch()
    (tree.home / "build/tiny").unlink()
    (partial,) = (tree.home / "build").rglob("greeting.c.o")
    partial.write_bytes(partial.read_bytes()[:100])
    assert tree.build() == ["greeting.c"]
    assert status(tree) == 3
    assert not (tree.home / "build" / cmake.UNFINISHED).exists()


def test_an_error_of_the_compiler_keeps_what_was_compiled(tree: Tree) -> None:
    (tree.source / "main.c").write_text("int main(void) { return greeting() }\n")
    with pytest.raises(BadInput, match="building failed"):
        tree.build()
    tree.compiled()
    (tree.source / "main.c").write_text("int greeting(void);\nint main(void) { return 1 + greeting(); }\n")
    assert tree.build() == ["main.c"]
    assert status(tree) == 4


@pytest.fixture
def library(tmp_path: Path, launcher: Path, monkeypatch: pytest.MonkeyPatch) -> Stack:
    """A stack whose program is a script, and a copy of the sources that are built beside it."""
    (tmp_path / "path").mkdir()
    program = tmp_path / "path/ping"
    program.write_text("#!/bin/sh\necho 1.0\n")
    program.chmod(0o755)
    shutil.copytree(REPOSITORY / "apps", tmp_path / "apps")
    monkeypatch.setattr(stacks, "APPS", tmp_path / "apps")
    monkeypatch.setattr(stacks, "install_packages", lambda *arguments, **options: None)
    monkeypatch.setenv("PATH", f"{tmp_path}/path:{os.environ['PATH']}")
    monkeypatch.setenv("FABRICBENCH_BUILD", str(tmp_path / "build"))
    return Stack(name="lib", level="user", programs={"ping": ("ping", "--version")})


def test_a_set_up_after_a_change_compiles_one_file(library: Stack, tmp_path: Path, launcher: Path) -> None:
    tree, record = Tree(tmp_path / "apps", tmp_path, launcher), tmp_path / "build/stacks/lib/stack.json"

    def set_up() -> list[str]:
        lines: list[str] = []
        assert stacks.set_up([library], lines.append) == []
        installed = read_installed(record)
        assert installed is not None
        assert not installed.missing_file
        return tree.compiled()

    first = set_up()
    assert {"client_server.c", "node.c", "supervise.c"} <= set(first)
    assert set_up() == []
    source = tmp_path / "apps/launch/client_server.c"
    source.write_text(source.read_text() + "\n/* changed */\n")
    assert set_up() == ["client_server.c"]
    record.unlink()  # as after an interruption
    assert set_up() == []
    assert stacks.set_up([library], lambda line: None, again=True) == []


def test_a_source_that_changes_during_a_set_up_is_built_by_the_next(
    library: Stack, tmp_path: Path, launcher: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = Tree(tmp_path / "apps", tmp_path, launcher)
    source = tmp_path / "apps/launch/client_server.c"

    def build_and_edit(*arguments: Any, **options: Any) -> None:
        build_apps(*arguments, **options)
        source.write_text(source.read_text() + "\n/* changed */\n")

    monkeypatch.setattr(stacks, "build_apps", build_and_edit)
    assert stacks.set_up([library], lambda line: None) == []
    tree.compiled()
    monkeypatch.setattr(stacks, "build_apps", build_apps)
    assert stacks.set_up([library], lambda line: None) == []
    assert "client_server.c" in tree.compiled()


@pytest.fixture
def pip(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Replaces the installation of wheels and interrupts the first one half way; returns the calls."""
    calls: list[str] = []

    def install(argv: list[str], log: Path, *, what: str) -> None:
        home = Path(argv[argv.index("--prefix") + 1])
        (home / "bin").mkdir(parents=True)
        (home / "bin/mpirun").touch()
        calls.append(what)
        if len(calls) == 1:
            raise KeyboardInterrupt
        for name in ("mpicc", "mpicxx"):
            (home / "bin" / name).touch()

    monkeypatch.setattr(prefix, "run_logged", install)
    return calls


def test_an_incomplete_prefix_is_installed_again_and_a_complete_one_is_kept(tmp_path: Path, pip: list[str]) -> None:
    stack = Stack(name="mine", pypi=("mine>=1",))
    with pytest.raises(KeyboardInterrupt):
        provide_prefix(stack, tmp_path, lambda line: None)
    for _ in range(2):
        record = provide_prefix(stack, tmp_path, lambda line: None)
        assert set(record.compilers) == {"mpirun", "mpicc", "mpicxx"}
    assert len(pip) == 2
    (tmp_path / "prefix/bin/mpicc").unlink()
    provide_prefix(stack, tmp_path, lambda line: None)
    assert len(pip) == 3
    provide_prefix(Stack(name="mine", pypi=("mine>=2",)), tmp_path, lambda line: None)
    assert len(pip) == 4
    assert json.loads((tmp_path / prefix.RECORD).read_text())["origin"]["pypi"] == ["mine>=2"]
