# SPDX-License-Identifier: Apache-2.0
"""``--recompute`` of each command that reads a campaign, and ``fabricbench record``."""

import json
import shutil
from pathlib import Path

import pytest

from fabricbench.campaign import cache
from fabricbench.campaign.write import create
from fabricbench.launch.record import Record
from support.command import inside

LAUNCHES = Path(__file__).resolve().parents[1] / "data/launches"
PLACE = "b000.s00/local/shm/openmpi/Micro_0"
REQUIREMENTS = """\
schema: 1
requirements:
  - id: quick
    text: latency at 8 B
    select: {tool: micro, benchmark: pingpong, metric: latency, msg_size_bytes: 8}
    at_most: 100 us
"""


@pytest.fixture
def campaign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A campaign with forged records in the cache: each value is a thousand times the true one."""
    monkeypatch.setenv(cache.CACHE, str(tmp_path / "cache"))
    path = tmp_path / "campaign"
    create(path, site=tmp_path / "local", tier="single", seed=0)
    (path / "requirements.yaml").write_text(REQUIREMENTS)
    for name in ("openmpi-shm-micro-pingpong-small", "openmpi-tcp-micro-pingpong-large"):
        fabric = name.split("-")[1]
        shutil.copytree(LAUNCHES / name, path / f"launches/b000.s00/local/{fabric}/openmpi/Micro_0")
    assert inside("table", str(path)).returncode == 0
    (file,) = (tmp_path / "cache").iterdir()
    forged = {}
    for key, text in cache.read_entries(file.stem).items():
        record = Record.model_validate_json(text)
        rows = tuple(row.model_copy(update={"value": row.value * 1000}) for row in record.rows)
        forged[key] = record.model_copy(update={"rows": rows, "hosts": ("forged",)}).model_dump_json().encode()
    cache.write_entries(file.stem, forged)
    return path


@pytest.mark.parametrize(
    "arguments",
    [
        ("table", "CAMPAIGN", "-f", "csv"),
        ("record", "CAMPAIGN", PLACE),
        ("compare", "CAMPAIGN", "openmpi@shm", "openmpi@tcp", "-f", "csv"),
        ("judge", "CAMPAIGN"),
        ("report", "CAMPAIGN", "-o", "PAGE"),
    ],
)
def test_recompute_uses_no_cache(campaign: Path, tmp_path: Path, arguments: tuple[str, ...]) -> None:
    page = tmp_path / "page.html"
    words = [{"CAMPAIGN": str(campaign), "PAGE": str(page)}.get(word, word) for word in arguments]

    def output() -> str:
        result = inside(*words)
        assert result.stderr == ""
        return page.read_text() if arguments[0] == "report" else result.stdout

    forged = output()
    words.append("--recompute")
    true = output()
    words.pop()
    assert output() == true  # and the cache is renewed
    shutil.rmtree(tmp_path / "cache")
    assert output() == true
    assert arguments[0] == "compare" or forged != true


@pytest.mark.parametrize("command", ["nodes", "provenance"])
def test_the_other_commands_take_recompute(campaign: Path, command: str) -> None:
    assert inside(command, str(campaign), "--recompute").returncode == (2 if command == "nodes" else 0)
    result = inside("record", str(campaign), PLACE)
    assert json.loads(result.stdout)["hosts"] != ["forged"]


def test_a_record_has_the_evidence_of_a_launch(campaign: Path) -> None:
    result = inside("record", str(campaign), PLACE, "--recompute")
    record = Record.model_validate_json(result.stdout)
    assert (record.directory, record.state) == (PLACE, "ok")
    assert record.attestation is not None
    assert record.attestation.traffic is not None


def test_record_of_an_unknown_launch(campaign: Path) -> None:
    result = inside("record", str(campaign), PLACE + "x")
    assert result.returncode == 2
    assert f"no launch '{PLACE}x'; expected {PLACE}" in result.stderr
    assert result.stderr.count("\n") == 1
