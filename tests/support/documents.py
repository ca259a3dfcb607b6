# SPDX-License-Identifier: Apache-2.0
"""Finds code in the documents by its text, and makes a copy of the repository to execute it in."""

import re
import shlex
import shutil
import subprocess
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path

from support.fake_site import REPOSITORY
from support.processes import clean_environment

_FENCED = re.compile(r"^```\w*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_INDENTED = re.compile(r"(?<=\n\n)((?: {4,}\S.*\n|\n(?= {4,}\S))+)")
_EXCLUDED = shutil.ignore_patterns(
    ".*", "build", "campaigns", "stage", "output", "perflogs", "__pycache__", "*.egg-info"
)
"""What set-up and runs make, and hidden files."""


@dataclass(frozen=True, slots=True)
class Document:
    """A page of ``docs/``."""

    text: str

    def code(self, part: str) -> str:
        """The only block of code, fenced or indented, that holds ``part``."""
        blocks = [block for block in (*_FENCED.findall(self.text), *self._indented()) if part in block]
        assert len(blocks) == 1, f"{len(blocks)} blocks of code hold {part!r}"
        return textwrap.dedent(blocks[0])

    def line_with(self, *parts: str) -> list[str]:
        """The words of the only line of code that contains all ``parts``, without its comment."""
        blocks = (*_FENCED.findall(self.text), *self._indented())
        lines = [line for block in blocks for line in block.splitlines() if all(part in line for part in parts)]
        assert len(lines) == 1, f"{len(lines)} lines of code hold {parts}"
        return shlex.split(lines[0], comments=True)

    def file(self, part: str) -> str:
        """The first name of a file between back-ticks after ``part``."""
        after = self.text.partition(part)[2]
        name = re.search(r"`([\w/.]+\.\w+)`", after)
        assert name, f"no file is named after {part!r}"
        return name.group(1)

    def _indented(self) -> list[str]:
        return [str(block) for block in _INDENTED.findall(_FENCED.sub("", self.text))]


def document(name: str) -> Document:
    """The page ``docs/name``."""
    return Document((REPOSITORY / "docs" / name).read_text())


@dataclass(frozen=True, slots=True)
class Copy:
    """A copy of the repository. Its commands import the copy's package and use the stacks of ``build``."""

    root: Path
    campaign: Path
    build: Path = REPOSITORY / "build"

    def write(self, file: str, text: str) -> None:
        """Writes a new file."""
        assert not (self.root / file).exists()
        (self.root / file).write_text(text)

    def append(self, file: str, text: str) -> None:
        """Writes ``text`` at the end of a file."""
        (self.root / file).write_text(f"{(self.root / file).read_text()}\n\n{text}")

    def replace(self, file: str, pattern: str, new: str) -> None:
        """Replaces the only match in a file by ``new``, in which no character is special."""
        text, times = re.subn(pattern, lambda _: new, (self.root / file).read_text(), flags=re.MULTILINE)
        assert times == 1, f"{times} places in {file} match {pattern}"
        (self.root / file).write_text(text)

    def insert(self, file: str, after: str, new: str) -> None:
        """Writes ``new`` after the only occurrence of a text, as an entry of the list that begins there."""
        self.replace(file, re.escape(after), f"{after}{new.rstrip().rstrip(',')}, ")

    def reframe(self, *arguments: str, system: str = "local") -> subprocess.CompletedProcess[str]:
        """Runs ``reframe`` as users of the sourced environment type it."""
        return self._call("fabricbench.runner.reframe", arguments, system)

    def fabricbench(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Runs ``fabricbench`` as users type it."""
        return self._call("fabricbench.cli", arguments, "local")

    def _call(self, module: str, arguments: tuple[str, ...], system: str) -> subprocess.CompletedProcess[str]:
        environment = {
            **clean_environment(),
            "PYTHONPATH": str(self.root / "analysis"),
            "RFM_CONFIG_FILES": str(self.root / "site/local/settings.py"),
            "RFM_SYSTEM": system,
            "FABRICBENCH_BUILD": str(self.build),
            "FABRICBENCH_CAMPAIGN": str(self.campaign),
        }
        argv = [sys.executable, "-m", module, *arguments]
        return subprocess.run(
            argv, env=environment, cwd=self.root, capture_output=True, text=True, timeout=600, check=False
        )


def copy_repository(root: Path, *, own_build: bool = False) -> Copy:
    """A copy without the folder ``tests``. ``own_build``: its stacks are those that it sets up itself."""

    def excluded(directory: str, names: list[str]) -> set[str]:
        return _EXCLUDED(directory, names) | ({"tests"} if Path(directory) == REPOSITORY else set())

    target = root / "repository"
    shutil.copytree(REPOSITORY, target, ignore=excluded)
    return Copy(target, root / "campaign", target / "build" if own_build else REPOSITORY / "build")
