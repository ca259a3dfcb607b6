# SPDX-License-Identifier: Apache-2.0
"""Stacks: their declaration in ``site/stacks.py`` and their record in ``stack.json``."""

from pathlib import Path

import pytest

from fabricbench.errors import BadInput
from fabricbench.site.settings import REPOSITORY
from fabricbench.site.stacks import Handshake, Installed, Stack, read_installed, site_stacks

STACK = """\
from fabricbench.site.stacks import Stack

STACKS = {{"mine": Stack(name="mine", transports={{"tcp": {{}}, "shm": {{}}}}, {field})}}
"""
INSTALLED = Installed(stack="mine", source="here", version="1", prefix="/opt/m", apps="/opt/apps", imb="/opt/IMB-MPI1")


@pytest.mark.parametrize(
    ("field", "message"),
    [
        ('rails={"tcp": {"stripped": {}}}', "mine: unknown rail policy 'stripped'; expected striped"),
        ('rails={"striped": {}}', "mine: rails on 'striped'; expected one of shm, tcp"),
        ('binding={"socks": ()}', "mine: unknown binding 'socks'; expected socket"),
    ],
)
def test_a_stack_with_an_unknown_word(tmp_path: Path, field: str, message: str) -> None:
    (tmp_path / "stacks.py").write_text(STACK.format(field=field))
    with pytest.raises(BadInput, match=rf"stacks\.py: {message}"):
        site_stacks(tmp_path)


def test_a_key_that_is_not_the_name_of_the_stack(tmp_path: Path) -> None:
    (tmp_path / "stacks.py").write_text(STACK.format(field="").replace('{"mine":', '{"yours":'))
    with pytest.raises(BadInput, match="the key of the stack 'mine' is 'yours'; expected 'mine'"):
        site_stacks(tmp_path)


def test_the_stacks_of_this_repository() -> None:
    stacks = site_stacks(REPOSITORY / "site")
    assert {"impi", "mpich", "openmpi"} <= set(stacks)
    assert all(name == declared.name for name, declared in stacks.items())
    assert stacks["impi"].transports["tcp"]["I_MPI_COLL_INTRANODE"] == "pt2pt"


def test_variables_of_a_transport_win_over_those_of_the_stack() -> None:
    declared = Stack(name="s", environment={"A": "1", "B": "{prefix}"}, transports={"tcp": {"A": "2"}})
    assert INSTALLED.variables(declared, "tcp") == {"A": "2", "B": "/opt/m"}
    assert INSTALLED.variables(declared, "mx") == {"A": "1", "B": "/opt/m"}


def test_no_stacks_file(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"stacks\.py: no such file; expected a file that defines STACKS"):
        site_stacks(tmp_path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "STACKS is missing or wrong; expected a dict from name to Stack"),
        ("STACKS = ", "invalid syntax; expected Python"),
        ("import no_such_module", "ModuleNotFoundError: .*no_such_module"),
        ("1 / 0", "ZeroDivisionError"),
        ("STACKS = []", "STACKS is missing or wrong; expected a dict from name to Stack"),
        ("STACKS = {'a': 'b'}", "STACKS is missing or wrong; expected a dict from name to Stack"),
        ("from fabricbench.site.stacks import Stack\nSTACKS = {'a': Stack()}", "TypeError"),
    ],
)
def test_a_stacks_file_that_is_wrong(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "stacks.py").write_text(text)
    with pytest.raises(BadInput, match=rf"stacks\.py(:\d+)?: {message}"):
        site_stacks(tmp_path)


def test_a_stack_without_a_record_is_not_installed(tmp_path: Path) -> None:
    assert read_installed(tmp_path / "stack.json") is None


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff", b'{"stack": "x"}', b"[" * 100_000])
def test_an_invalid_stack_record(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "stack.json").write_bytes(content)
    with pytest.raises(BadInput, match=r"not a stack's record: .*; delete it and set up again") as caught:
        read_installed(tmp_path / "stack.json")
    assert "\n" not in str(caught.value)


def test_a_stack_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    (tmp_path / "stack.json").write_text(INSTALLED.model_dump_json())
    assert read_installed(tmp_path / "stack.json") == INSTALLED


LIBRARY = Stack(
    name="lib",
    level="user",
    programs={"bench": ("bench", "--version"), "other": ("other", "-V")},
    handshake=Handshake(("bench", "-p", "{port}"), ("bench", "-s", "8", "{address}")),
    transports={"tcp": {"LIB_TLS": "tcp"}},
    unsupported={"shm": "it has no memory"},
)


def test_the_features_of_a_library_are_its_programs() -> None:
    assert LIBRARY.features == ["userlevel", "bench", "other"]
    assert Stack(name="s").features == ["mpi"]


def test_a_transport_that_a_stack_cannot_use_has_a_reason() -> None:
    assert LIBRARY.unavailable_on("tcp") is None
    assert LIBRARY.unavailable_on("shm") == ("lib cannot use shm: it has no memory", "")
    assert LIBRARY.unavailable_on("mx") == ("no settings for lib on mx", "add them to lib in site/stacks.py")


def test_the_command_that_sets_a_stack_up() -> None:
    command = "fabricbench setup --spack build/views mine, or fabricbench setup mine --prefix DIRECTORY"
    assert Stack(name="mine").set_up_command == command
    assert Stack(name="mine", pypi=("mine",)).set_up_command == "fabricbench setup mine"


def test_a_handshake_has_the_paths_of_the_programs_and_the_address() -> None:
    assert LIBRARY.handshake is not None
    arguments = LIBRARY.handshake.arguments({"bench": "/usr/bin/bench"}, "::1")
    server, client = ("/usr/bin/bench", "-p", "{port}"), ("/usr/bin/bench", "-s", "8", "::1")
    assert arguments == ("--", *server, "::", *client)


def test_the_first_file_that_no_longer_exists(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    mpi = Installed(stack="m", source="here", version="1", prefix=str(tmp_path), apps=str(tmp_path))
    library = mpi.model_copy(update={"programs": {"bench": str(tmp_path / "bench")}})
    assert mpi.missing_file == str(tmp_path / "bin/mpirun")
    assert library.missing_file == str(tmp_path / "bench")
    for name in ("bin/mpirun", "bench"):
        (tmp_path / name).touch()
    assert mpi.missing_file == library.missing_file == f"{tmp_path}/bin/fabricbench-launch"
    (tmp_path / "bin/fabricbench-launch").touch()
    assert mpi.missing_file == library.missing_file == ""
