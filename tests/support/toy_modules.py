# SPDX-License-Identifier: Apache-2.0
"""A module system for bash in a few lines, and the real ones of this machine.

A modulefile of the toy has lines ``prepend NAME DIRECTORY`` and ``set NAME VALUE``.
"""

from dataclasses import dataclass
from pathlib import Path

import pytest

REAL = {
    "environment-modules": Path("/usr/share/modules/init/bash"),
    "lmod": Path("/usr/share/lmod/lmod/init/bash"),
}
"""The start files of Debian's packages of module systems."""
_TOY = """\
export MODULESHOME={home}
module() {{
  local command=$1 name folder action variable value status=0
  shift
  for name in "$@"; do
    for folder in ${{MODULEPATH//:/ }}; do
      if [ -e "$folder/$name" ]; then break; fi
    done
    if [ ! -e "$folder/$name" ]; then
      [ "$command" = unload ] || echo "ERROR: Unable to locate a modulefile for '$name'" >&2
      status=1
      continue
    fi
    [ "$command" = load ] || continue
    while read -r action variable value; do
      case $action in
        prepend) export "$variable=$value${{!variable:+:${{!variable}}}}" ;;
        set) export "$variable=$value" ;;
      esac
    done <"$folder/$name"
    export LOADEDMODULES=${{LOADEDMODULES:+$LOADEDMODULES:}}$name
  done
  return $status
}}
"""


@dataclass(frozen=True, slots=True)
class ModuleSystem:
    """A module system whose modulefiles are in ``files``. ``is_real``: it is the one of this machine."""

    files: Path
    is_real: bool

    def add(self, name: str, *, prepend: tuple[tuple[str, str], ...] = (), **variables: str) -> None:
        """Adds a module that prepends directories to variables, and sets variables."""
        file = self.files / name
        file.parent.mkdir(parents=True, exist_ok=True)
        words = ("prepend-path", "setenv") if self.is_real else ("prepend", "set")
        lines = [f"{words[0]} {variable} {value}" for variable, value in prepend]
        lines += [f"{words[1]} {variable} {value}" for variable, value in variables.items()]
        file.write_text("".join(f"{line}\n" for line in ["#%Module" if self.is_real else "", *lines]))


def module_system(root: Path, monkeypatch: pytest.MonkeyPatch, *, start: Path | None = None) -> ModuleSystem:
    """Makes a module system for the login shells of the test: the one with this ``start`` file; by default a toy."""
    home, files = root / "home", root / "modulefiles"
    (home / "init").mkdir(parents=True)
    files.mkdir()
    is_real = start is not None
    if start is None:
        start = home / "init/bash"
        start.write_text(_TOY.format(home=home))
    login(home, f". {start}", monkeypatch)
    for name in ("BASH_ENV", "BASH_FUNC_module%%", "ENV", "LOADEDMODULES", "MODULESHOME", "_LMFILES_"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("MODULEPATH", str(files))
    return ModuleSystem(files, is_real)


def login(home: Path, commands: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes ``home`` the home of the test, in which login shells of bash execute these commands last."""
    home.mkdir(parents=True, exist_ok=True)
    # Lmod has set BASH_ENV to its own start file, which bash would execute after this one.
    (home / ".bash_profile").write_text(f"unset BASH_ENV\n{commands}\n")
    monkeypatch.setenv("HOME", str(home))
