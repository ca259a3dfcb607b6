# SPDX-License-Identifier: Apache-2.0
"""Makes a small campaign of captured launches, and damages its files at random."""

import json
import os
import random
import re
import shutil
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fabricbench.campaign.write import create
from fabricbench.files.writing import write_json

DATA = Path(__file__).resolve().parents[1] / "data"
REQUIREMENTS = """\
schema: 1
requirements:
  - id: latency
    text: latency at 8 B is at most 100 us
    select: {tool: micro, benchmark: pingpong, metric: latency, msg_size_bytes: 8}
    at_most: 100 us
  - id: imb-agrees
    text: IMB's latency is within a factor of two of the same stack's
    select: {tool: imb, benchmark: pingpong, metric: latency, fabric: tcp}
    relative_to: {tool: micro, fabric: shm}
    within: [0.5, 2]
"""
SKIPPED = {
    **{"schema_version": 1, "id": "g", "block": 0, "system": "local", "fabric": "tcp", "stack": "openmpi"},
    **{"tool": "imb", "benchmark": "pt2pt", "messages": "small", "reason": "no IMB", "hint": "install it"},
}
ELSEWHERE = ("complete.json", "lock", "run.log")
"""Files of a campaign that only ``run`` reads."""


def make_campaign(path: Path) -> Path:
    """Makes a campaign: launches of four tools, a wire-up with one witness file per node, a failed launch, a skip."""
    create(path, site=path.parent / "local", tier="single", seed=0)
    (path / "requirements.yaml").write_text(REQUIREMENTS)
    captures = {
        "mpich-tcp-wireup": "b000.s00/local/tcp/mpich/WireUp_0",
        "openmpi-shm-micro-pingpong-small": "b000.s00/local/shm/openmpi/Micro_0",
        "mpich-tcp-imb-pt2pt-small": "b000.s00/local/tcp/mpich/Imb_0",
        "failed-openmpi-tcp-wrong-answer": "b000.s00/local/tcp/openmpi/Failed_0",
    }
    for name, place in captures.items():
        shutil.copytree(DATA / "launches" / name, path / "launches" / place)
    wireup = path / "launches" / captures["mpich-tcp-wireup"]
    reports = sorted(wireup.glob("witness.*.json"))
    lines = [json.dumps(json.loads(file.read_text())) + "\n" for file in reports]
    (wireup / "witness.vm.jsonl").write_text("".join(lines))
    for file in reports:
        file.unlink()
    _add_gromacs(path / "launches/b000.s00/local/shm/openmpi/Gromacs_0", wireup)
    skip = path / "launches/b000.s00/local/tcp/openmpi/Imb_0"
    skip.mkdir(parents=True)
    write_json(skip / "skipped.json", SKIPPED)
    write_json(path / "complete.json", {"blocks": 1})
    (path / "lock").write_text("0" * 32 + "\n")
    (path / "run.log").write_text("a line\n")
    return path


def _add_gromacs(directory: Path, facts: Path) -> None:
    shutil.copytree(facts, directory)
    shutil.copy(DATA / "gromacs/2022-two/md.log", directory)
    launch = json.loads((directory / "launch.json").read_text())
    launch |= {"tool": "gromacs", "benchmark": "villin", "mode": "timed", "fabric": "shm", "stack": "openmpi"}
    launch |= {"id": "b000 openmpi@shm gromacs", "transport": "shm", "argv": ["mdrun", "-nsteps", "80"]}
    write_json(directory / "launch.json", launch)
    reference = {"name": "villin", "sha256": "0" * 64, "gromacs": "2022", "tolerance": 0.1, "steps": {}}
    write_json(directory / "reference.json", reference)


def files_of(campaign: Path) -> list[Path]:
    """Returns the paths of a campaign's files relative to its directory."""
    return sorted(path.relative_to(campaign) for path in campaign.rglob("*") if path.is_file())


def _in_place(make: Callable[[Path], object]) -> Callable[[Path], None]:
    def replace(file: Path) -> None:
        file.unlink()
        make(file)

    return replace


def _link_to_itself(file: Path) -> None:
    real = file.with_name(f"real-{file.name}")
    file.rename(real)
    file.symlink_to(real.name)


def _socket(file: Path) -> None:
    there = os.getcwd()
    os.chdir(file.parent)  # the path of a socket has a length limit
    try:
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(file.name)
    finally:
        os.chdir(there)


def as_sparse(file: Path) -> None:
    with file.open("ab") as stream:
        stream.truncate(1 << 40)


NOT_REGULAR: dict[str, Callable[[Path], None]] = {
    "fifo": _in_place(os.mkfifo),
    "link": _link_to_itself,
    "link to nothing": _in_place(lambda file: file.symlink_to("nothing")),
    "link to a device": _in_place(lambda file: file.symlink_to("/dev/zero")),
    "directory": _in_place(Path.mkdir),
    "socket": _in_place(_socket),
}
WRONG: dict[str, Callable[[Path], object]] = {
    **NOT_REGULAR,
    "sparse": as_sparse,
    "missing": Path.unlink,
    "empty": lambda file: file.write_bytes(b""),
    "nested": lambda file: file.write_bytes(b"[" * 200_000),
    "nested mappings": lambda file: file.write_bytes(b'{"a":' * 100_000),
    "no text": lambda file: file.write_bytes(b"\xff\xfe\x00\x80" * 100),
    "null": lambda file: file.write_text("null"),
    "one long line": lambda file: file.write_bytes(b"9" * (1 << 20)),
}
VALUES: tuple[Any, ...] = (
    *(None, True, "", "x", "\x00", "\ud800", -1, 0, 2**31, 2**53 + 1, 2**63, 2**64, -(2**63), 10**400, 1e308, 5e-324),
    *(float("nan"), float("inf"), [], {}, [[]], {"": None}, "é" * 300, "1e999", "<script>", "../../../etc/passwd"),
)
NUMBERS = ("nan", "inf", "-1", "0", "1e999", "-0.0", "9" * 5000, "1_000", "", "\u0663", "0x10", "1e-320", "x")


def mutate(file: Path, chance: random.Random) -> str:
    """Damages a file at random and returns a description of the change."""
    if file.is_symlink() or not file.is_file():
        return "nothing"
    ways: list[Callable[[Path, random.Random], str]] = [_wrong, _flip, _cut, _shuffle, _number]
    if file.suffix == ".json" or file.name in ("begin", "end") or file.name.startswith("host."):
        ways += [_value] * 5
    return chance.choice(ways)(file, chance)


def _wrong(file: Path, chance: random.Random) -> str:
    name = chance.choice(sorted(WRONG))
    WRONG[name](file)
    return name


def _flip(file: Path, chance: random.Random) -> str:
    data = bytearray(file.read_bytes())
    for _ in range(chance.choice((1, 1, 20))):
        if data:
            data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    file.write_bytes(data)
    return "flipped bits"


def _cut(file: Path, chance: random.Random) -> str:
    data = file.read_bytes()
    file.write_bytes(data[: chance.randrange(len(data) + 1)])
    return "cut"


def _shuffle(file: Path, chance: random.Random) -> str:
    lines = file.read_bytes().splitlines(keepends=True)
    if lines:
        at, other = chance.randrange(len(lines)), chance.randrange(len(lines))
        lines[at:at] = lines[other : other + chance.choice((1, 5))]
        del lines[chance.randrange(len(lines))]
    file.write_bytes(b"".join(lines))
    return "lines moved"


def _number(file: Path, chance: random.Random) -> str:
    text = file.read_text(errors="surrogateescape")
    numbers = list(re.finditer(r"-?\d+(\.\d+)?", text))
    if numbers:
        number, value = chance.choice(numbers), chance.choice(NUMBERS)
        text = text[: number.start()] + value + text[number.end() :]
    file.write_text(text, errors="surrogateescape")
    return "another number"


def _value(file: Path, chance: random.Random) -> str:
    try:
        document = json.loads(file.read_text())
    except (ValueError, RecursionError):
        return "nothing"
    place = document
    while isinstance(place, dict | list) and place:
        key = chance.choice(sorted(place)) if isinstance(place, dict) else chance.randrange(len(place))
        inner = place[key]
        if not (isinstance(inner, dict | list) and inner) or chance.random() < 0.2:
            value = chance.choice(VALUES)
            place[key] = value
            file.write_text(json.dumps(document))
            return f"{key} = {value!r:.40}"
        place = inner
    return "nothing"
