# SPDX-License-Identifier: Apache-2.0
"""The key of a cached record covers the facts of every launch and the files that the parser of its tool declares."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from fabricbench.campaign import digest
from fabricbench.parsers import registry, tools
from fabricbench.parsers.output import Parsed
from fabricbench.parsers.registry import TOOLS, Parser, files_of, parser_of
from support.fake_site import REPOSITORY

LAUNCHES = REPOSITORY / "tests/data/launches"
TABLE = "results.txt"


def made_up_tool(monkeypatch: pytest.MonkeyPatch, **names: object) -> str:
    """A tool whose module has ``parse``, ``BENCHMARKS`` and ``names``."""
    module = ModuleType(f"{tools.__name__}.made_up")
    vars(module).update({"BENCHMARKS": ("one",), "parse": lambda directory, launch: Parsed((), None)} | names)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    for user in (registry, digest):
        monkeypatch.setattr(user, "TOOLS", (*TOOLS, "made_up"))
    return "made_up"


def made_up_launch(tool: str, directory: Path) -> Path:
    (directory / "launch.json").write_text(json.dumps({"tool": tool}))
    for name in ("stdout", "stderr", TABLE, "notes.txt"):
        (directory / name).write_text("1\n")
    return directory


def keys_before_and_after_a_change(directory: Path, name: str) -> tuple[str, str]:
    before = digest.digest(directory)
    (directory / name).write_text("2\n")
    return before, digest.digest(directory)


@pytest.mark.parametrize(("name", "covered"), [("stdout", True), ("stderr", True), (TABLE, True), ("notes.txt", False)])
def test_a_key_covers_the_declared_files_of_its_tool(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, covered: bool
) -> None:
    directory = made_up_launch(made_up_tool(monkeypatch, FILES=(TABLE,)), tmp_path)
    before, after = keys_before_and_after_a_change(directory, name)
    assert (before != after) == covered


@pytest.mark.parametrize("name", ["md.log", "reference.json"])
def test_a_key_of_gromacs_covers_its_log_and_its_reference(tmp_path: Path, name: str) -> None:
    before, after = keys_before_and_after_a_change(made_up_launch("gromacs", tmp_path), name)
    assert before != after


@pytest.mark.parametrize("tool", ["imb", "unknown", None, ["imb"], {}])
def test_a_key_covers_no_file_that_another_tool_declares(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tool: object
) -> None:
    made_up_tool(monkeypatch, FILES=(TABLE,))
    directory = made_up_launch("", tmp_path)
    (directory / "launch.json").write_text(json.dumps({"tool": tool}))
    before, after = keys_before_and_after_a_change(directory, TABLE)
    assert before == after


@pytest.mark.parametrize("text", ["", "{", "[]", "5", "[" * 100_000, "\x00"])
def test_a_launch_without_readable_facts_has_a_key(tmp_path: Path, text: str) -> None:
    (tmp_path / "launch.json").write_text(text)
    before = digest.digest(tmp_path)
    (tmp_path / "launch.json").write_text(text + " ")
    assert len({before, digest.digest(tmp_path)}) == 2


def test_the_output_is_the_only_file_of_a_parser_that_declares_none(monkeypatch: pytest.MonkeyPatch) -> None:
    assert files_of(made_up_tool(monkeypatch)) == ("stdout",)


def test_every_tool_has_a_parser() -> None:
    assert all(isinstance(parser_of(tool), Parser) for tool in TOOLS)


def test_a_module_without_parse_is_not_a_tool(monkeypatch: pytest.MonkeyPatch) -> None:
    tool = made_up_tool(monkeypatch)
    del sys.modules[f"{tools.__name__}.{tool}"].parse
    with pytest.raises(TypeError, match="must have parse and BENCHMARKS; begin the name of a helper module with an"):
        parser_of(tool)


def test_a_module_with_a_leading_underscore_is_not_a_tool(tmp_path: Path) -> None:
    for name in ("_table", "newtool"):
        (tmp_path / f"{name}.py").write_text("")
    code = (
        "import sys\n"
        "from fabricbench.parsers import tools\n"
        "tools.__path__.append(sys.argv[1])\n"
        "from fabricbench.parsers.registry import TOOLS\n"
        "print('_table' in TOOLS, 'newtool' in TOOLS)\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, timeout=60, check=False
    )
    assert (result.stdout, result.stderr) == ("False True\n", "")


IMPORTED = """
import json, sys
from pathlib import Path
from fabricbench.campaign.collect import collect
from fabricbench.parsers.registry import TOOLS, parser_of
for tool in TOOLS:
    parser_of(tool)
for directory in Path(sys.argv[1]).iterdir():
    collect(directory)
files = [module.__file__ for name, module in sys.modules.items() if name.partition(".")[0] == "fabricbench"]
print(json.dumps(files))
"""
"""Prints the files of all modules that ``collect`` and the parsers import."""


def test_a_key_covers_all_code_that_derives_a_record() -> None:
    command = [sys.executable, "-c", IMPORTED, str(LAUNCHES)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    imported = {Path(file) for file in json.loads(result.stdout)}
    package = REPOSITORY / "analysis/fabricbench"
    assert package / "errors.py" in imported
    assert imported - set(digest.code_files()) == set()


AUDIT = """
import json, sys, os
from pathlib import Path
from fabricbench.campaign.collect import collect
from fabricbench.campaign.digest import FACTS
from fabricbench.parsers.registry import TOOLS, files_of
declared = {tool: files_of(tool) for tool in TOOLS}
opened = []
sys.addaudithook(lambda event, args: opened.append(Path(os.fspath(args[0]))) if event == "open"
                 and isinstance(args[0], (str, os.PathLike)) else None)
for directory in Path(sys.argv[1]).iterdir():
    opened.clear()
    launch = collect(directory).launch
    names = {path.name for path in opened if path.parent == directory}
    assert {"launch.json", "begin", "end"} <= names, (directory, names)
    files = declared.get(launch.tool, ()) if launch else ()
    undeclared = {name for name in names if name not in files and not FACTS.fullmatch(name)}
    print(*(f"{directory.name}: {name}" for name in sorted(undeclared)), end="")
"""
"""Prints the files of launch directories that ``collect`` opens and the key does not cover."""


def undeclared_reads(launches: Path, code: str = AUDIT) -> str:
    result = subprocess.run(
        [sys.executable, "-c", code, str(launches)], capture_output=True, text=True, timeout=300, check=False
    )
    assert result.stderr == ""
    return result.stdout


def gromacs_launch(directory: Path, **end: object) -> Path:
    """A launch directory with a log of GROMACS, made from the facts of another tool's launch."""
    shutil.copytree(LAUNCHES / "mpich-tcp-npb-cg", directory)
    for name in ("md.log", "stdout", "stderr"):
        if (file := REPOSITORY / "tests/data/gromacs/2026-two" / name).exists():
            shutil.copy(file, directory)
    expected = [{"benchmark": "villin", "metric": "energy_deviation"}]
    launch: dict[str, object] = {"tool": "gromacs", "benchmark": "villin", "expected": expected}
    for name, changes in (("launch.json", launch), ("end", end)):
        facts = json.loads((directory / name).read_text())
        (directory / name).write_text(json.dumps({**facts, **changes}))
    return directory


def test_no_parser_reads_an_undeclared_file(tmp_path: Path) -> None:
    gromacs_launch(tmp_path / "finished")
    gromacs_launch(tmp_path / "failed", status=1)
    assert undeclared_reads(LAUNCHES) == ""
    assert undeclared_reads(tmp_path) == ""


def test_reading_an_undeclared_file_is_detected(tmp_path: Path) -> None:
    gromacs_launch(tmp_path / "launches/finished")
    audit = AUDIT.replace("opened = []", "declared['gromacs'] = ('stdout',)\nopened = []")
    assert undeclared_reads(tmp_path / "launches", audit) == "finished: md.log"
