# SPDX-License-Identifier: Apache-2.0
"""Profiles that are cut off, damaged, incomplete or hostile."""

import contextlib
import os
import random
import shutil
import time
from pathlib import Path

import pytest

from fabricbench.parsers.output import Unreadable
from fabricbench.parsers.tau.files import read_profile
from fabricbench.parsers.tau.rows import rows_of
from fabricbench.parsers.tau.text import LONGEST_LINE_BYTES
from parsers.test_tau import MPICH, launch_of, values
from support.profile_text import EVENT_COLUMNS, application, packed, text, timer

CAPTURE = MPICH / "point-to-point-param"


def damaged(path: Path, old: str, new: str) -> Path:
    """A copy of a capture with one change in rank 0's file."""
    shutil.copytree(CAPTURE, path, dirs_exist_ok=True)
    file = path / "profile.0.0.0"
    content = file.read_text()
    assert content.count(old) == 1
    file.write_text(content.replace(old, new))
    return path


@pytest.mark.parametrize(
    ("old", "new", "line", "expected"),
    [
        ('"MPI_Send()  " 15 0', '"MPI_Send()  " -15 0', 7, "a finite number of at least 0, not '-15'"),
        ('"MPI_Send()  " 15 0', '"MPI_Send()  " 15.5 0', 7, "a whole number of calls, not '15.5'"),
        ('"MPI_Send()  " 15 0', '"MPI_Send()  " 1e300 0', 7, "a whole number of calls, not '1e300'"),
        ('"MPI_Send()  " 15 0 1', '"MPI_Send()  " 15 0 nan', 7, "a number, not 'nan"),
        ('"MPI_Send()  " 15 0 1', '"MPI_Send()  " 15 0 -1', 7, "a finite number of at least 0, not '-1"),
        ('"MPI_Send()  " 15 0 1', '"MPI_Send()  " 15 0 9991', 7, "an inclusive time of at least the exclusive one"),
        ('"MPI_Send()  " 15', '"MPI_Send()  " 15 7', 7, "a name in double quotes, not "),
        ('"MPI_Send()  "', "MPI_Send()", 7, "a name in double quotes, not MPI_Send()"),
        ('"MPI_Send()  "', '"libfoo_send"', 7, "a function of MPI or 'MPI Collective Sync' in the group MPI, not 'lib"),
        ('"MPI_Isend()  "', '"MPI_Irecv()  "', 12, "one timer of MPI_Irecv, the first is line 11"),
        ("<message size> = <8>", "message size = 8", 10, "parameters as '[ <message size> = <4096> ]'"),
        ("<message size> = <8>", "<a> = <8> <a> = <8>", 10, "each parameter once"),
        ("0 aggregates\n", "", 17, "'0 aggregates' after 14 timers"),
        ("4 userevents", "5 userevents", None, "a user event: the file is cut off"),
        ("4 userevents", "3 userevents", 23, "the end of the profile"),
        ("4 userevents", "many userevents", 18, "the end of the profile"),
        (EVENT_COLUMNS, "# eventname", 19, f"the columns '{EVENT_COLUMNS}'"),
        ("29 2048 16 7", "29 2048 16 9999997", 20, "a mean between minimum and maximum"),
        ("29 2048 16 ", "29 2048 -16 ", 20, "message sizes of at least 0, not -16"),
        ("29 2048 16 ", "29 inf 16 ", 20, "a finite number of at least 0, not 'inf'"),
        ("14 templated_functions_MULTI_TIME", "99999999 templated_functions", 1, "the first line of TAU's"),
        ("14 templated_functions_MULTI_TIME", "9999999 templated_functions", 1, "at most 1048576 entries"),
        ("14 templated_functions_MULTI_TIME", "15 templated_functions_MULTI_TIME", 17, "a timer, '"),
        ("14 templated_functions_MULTI_TIME", "14 templated_functions_MULTI_CYCLES", 1, "the metric TIME, not CYCLES"),
        ("</metadata>", "", 2, "metadata from <metadata> to </metadata>"),
        ("# Name Calls Subrs", "# Name Subrs Calls", 2, "the columns '# Name Calls Subrs Excl Incl ProfileCalls'"),
        ('"MPI_Send()  "', '"MPI_\0end()  "', 7, "text, this is binary"),
    ],
)  # fmt: skip
def test_one_wrong_place(tmp_path: Path, old: str, new: str, line: int | None, expected: str) -> None:
    with pytest.raises(Unreadable) as error:
        read_profile(damaged(tmp_path, old, new), 2)
    where, _, message = str(error.value).partition(": expected ")
    assert expected in message
    assert where == f"profile.0.0.0:{line}" if line else where.startswith("profile.0.0.0")


def test_ranks(tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match=r"profile\.\*: expected 3 ranks, there are 2: thread 0 of rank 2 is missing"):
        read_profile(CAPTURE, 3)
    with pytest.raises(Unreadable, match=r"profile\.1\.0\.0:1: expected ranks 0 to 0, not rank 1"):
        read_profile(CAPTURE, 1)
    one = text([application(9)])
    (tmp_path / "profile.a.txt").write_text(packed((0, 0, one), (1, 0, one)))
    (tmp_path / "profile.b.txt").write_text(packed((1, 0, one)))
    with pytest.raises(Unreadable, match=r"b\.txt:2: expected rank 1, thread 0 once, the first is profile\.a\.txt:7"):
        read_profile(tmp_path, 2)


def test_metadata_of_another_launch(tmp_path: Path) -> None:
    old, new = "MPI Size</name><value>2", "MPI Size</name><value>3"
    body = (MPICH.parent / "fabricbench-0.1.0-mpich/cg.S/profile.vm.txt").read_text()
    assert body.count(old) == 2
    (tmp_path / "profile.vm.txt").write_text(body.replace(old, new))
    with pytest.raises(Unreadable, match=r"profile\.vm\.txt:3: expected 'MPI Size' 2 in the metadata, not '3'"):
        read_profile(tmp_path, 2)


def test_files(tmp_path: Path) -> None:
    shutil.copytree(CAPTURE, tmp_path / "two")
    (tmp_path / "two/profile.node.txt").write_text(packed((0, 0, text([application(9)]))))
    with pytest.raises(Unreadable, match=r"profile\.0\.0\.0: expected a profile of one form, there is profile\.node"):
        read_profile(tmp_path / "two", 2)
    shutil.copytree(CAPTURE, tmp_path / "context")
    (tmp_path / "context/profile.1.0.0").rename(tmp_path / "context/profile.1.2.0")
    with pytest.raises(Unreadable, match=r"profile\.1\.2\.0: expected context 0, not 2"):
        read_profile(tmp_path / "context", 2)
    shutil.copytree(CAPTURE, tmp_path / "fifo")
    (tmp_path / "fifo/profile.1.0.0").unlink()
    os.mkfifo(tmp_path / "fifo/profile.1.0.0")
    with pytest.raises(Unreadable, match=r"profile\.1\.0\.0: expected a file that can be read \(a FIFO"):
        read_profile(tmp_path / "fifo", 2)
    with pytest.raises(Unreadable, match="expected a directory"):
        read_profile(tmp_path / "nowhere", 2)


@pytest.mark.parametrize("body", ["", "\n", "# profile.0.1.0\n", "# profile.x.0.0\n", "12345\n"])
def test_a_file_of_a_node_that_is_none(tmp_path: Path, body: str) -> None:
    (tmp_path / "profile.node.txt").write_text(body)
    with pytest.raises(Unreadable, match=r"profile\.node\.txt.*expected '# profile\.RANK\.0\.THREAD' before each text"):
        read_profile(tmp_path, 1)


def test_times_that_contradict_each_other(tmp_path: Path) -> None:
    (tmp_path / "profile.node.txt").write_text(packed((0, 0, text([application(100), timer("MPI_Send()  ", 1, 200)]))))
    profile = read_profile(tmp_path, 1)
    assert values(profile)["mpi_share", "", None] == 1, "the outermost timer is the longest"
    threads = (0, 0, text([application(100)])), (0, 1, text([application(100), timer("MPI_Send()  ", 1, 200)]))
    (tmp_path / "profile.node.txt").write_text(packed(*threads))
    with pytest.raises(Unreadable, match=r"node\.txt:2: expected at most 0\.0001 s in MPI of rank 0, its run time"):
        values(read_profile(tmp_path, 1))
    (tmp_path / "profile.node.txt").write_text(packed((0, 0, text([timer("MPI_Init()  ", 1, 200)]))))
    with pytest.raises(Unreadable, match=r"node\.txt:2: expected a run time above 0 of rank 0"):
        values(read_profile(tmp_path, 1))


def test_a_long_line(tmp_path: Path) -> None:
    (tmp_path / "profile.0.0.0").write_bytes(b"1 templated_functions_MULTI_TIME\n" + b"#" * (LONGEST_LINE_BYTES + 1))
    with pytest.raises(Unreadable, match=r"profile\.0\.0\.0:2: expected a line of at most 1048576 bytes"):
        read_profile(tmp_path, 1)


def test_a_file_that_is_too_large(tmp_path: Path) -> None:
    with (tmp_path / "profile.0.0.0").open("wb") as stream:
        stream.truncate(1 << 40)
    with pytest.raises(Unreadable, match=r"profile\.0\.0\.0: expected at most 67108864 bytes"):
        read_profile(tmp_path, 1)


@pytest.mark.parametrize(
    "name", ['" ' * 300_000, "[ <" * 200_000, "<a> = <b> " * 80_000, "<" * 900_000, " " * 900_000, " 1" * 400_000]
)
@pytest.mark.parametrize("group", ["MPI", "TAU_PARAM | MPI", "TAU_USER"])
def test_the_time_is_linear_in_the_length_of_a_name(tmp_path: Path, name: str, group: str) -> None:
    """Quadratic time would be hours."""
    (tmp_path / "profile.0.0.0").write_text(text([application(9), timer(name, 1, 1, group)]))
    start = time.process_time()
    with contextlib.suppress(Unreadable):
        read_profile(tmp_path, 1)
    assert time.process_time() - start < 60


@pytest.mark.parametrize("capture", ["point-to-point-param", "is.S", "cg.S-callpath"])
def test_cut_off_at_any_byte(tmp_path: Path, capture: str) -> None:
    """Every shorter file is unreadable, except one that ends where the user events would begin."""
    shutil.copytree(MPICH / capture, tmp_path, dirs_exist_ok=True)
    raw = (MPICH / capture / "profile.1.0.0").read_bytes()
    without_events = raw.index(b"0 aggregates\n") + len(b"0 aggregates\n")
    for length in (*random.Random(7).sample(range(len(raw)), 200), *range(len(raw) - 200, len(raw)), without_events):
        (tmp_path / "profile.1.0.0").write_bytes(raw[:length])
        if length == without_events:
            assert not read_profile(tmp_path, 2).threads[1].events
        else:
            with pytest.raises(Unreadable, match=r"^profile\.1\.0\.0(:\d+)?: expected "):
                read_profile(tmp_path, 2)


def test_damage_is_unreadable_or_gives_rows(tmp_path: Path) -> None:
    draw, raw = random.Random(20261122), (CAPTURE / "profile.1.0.0").read_bytes()
    shutil.copytree(CAPTURE, tmp_path, dirs_exist_ok=True)
    begin = raw.index(b"</metadata>")
    accepted = 0
    for _ in range(600):
        damage = bytearray(raw)
        for _ in range(draw.randint(1, 3)):
            damage[draw.randrange(begin, len(damage))] = draw.choice((draw.randrange(256), *b'0129- .e"<>'))
        (tmp_path / "profile.1.0.0").write_bytes(damage)
        with contextlib.suppress(Unreadable):
            rows = rows_of(read_profile(tmp_path, 2), launch_of())
            assert all(row.value >= 0 for row in rows)
            accepted += 1
    assert 0 < accepted < 600
