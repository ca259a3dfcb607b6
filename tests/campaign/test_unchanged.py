# SPDX-License-Identifier: Apache-2.0
"""A campaign and captures of version 0.1.0 keep their ids, cells, numbers and states in every later version.

One change was made since: the project's own NAS kernels have the case ``code=own``, which was empty. The recorded data
are those of before; ``as_recorded`` reverses exactly this change.
"""

import hashlib
import json
import re
import tarfile
from pathlib import Path

import pytest

from fabricbench.campaign.collect import collect
from support.command import inside
from support.fake_site import REPOSITORY

DATA = REPOSITORY / "tests/data"
CAMPAIGN = json.loads((DATA / "campaigns/six-blocks.json").read_text())
CAPTURES = json.loads((DATA / "campaigns/launches.json").read_text())


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("six-blocks")
    with tarfile.open(DATA / "campaigns/six-blocks.tar.xz") as archive:
        archive.extractall(directory, filter="data")
    return directory


def as_recorded(tool: str, case: str) -> str:
    """Returns a case as version 0.1.0 wrote it: without ``code=own``, which every own kernel must have now."""
    words = case.split()
    if tool != "npb" or "code=nasa" in words:
        assert "code=own" not in words
        return case
    assert words.count("code=own") == 1
    return " ".join(word for word in words if word != "code=own")


def test_every_row_of_the_table(campaign: Path, tmp_path: Path) -> None:
    result = inside("table", str(campaign), "-f", "csv", "-o", str(tmp_path / "table.csv"))
    assert result.returncode == 0, result.stderr
    header, *rows = (tmp_path / "table.csv").read_text().splitlines()
    assert header == CAMPAIGN["header"]
    assert len(rows) == CAMPAIGN["rows"]
    tool, case = (header.split(",").index(name) for name in ("tool", "case"))
    columns = [row.split(",") for row in rows]
    assert any(row[tool] == "npb" for row in columns)
    empty = '""'
    rows = [",".join([*row[:case], as_recorded(row[tool], row[case]) or empty, *row[case + 1 :]]) for row in columns]
    assert hashlib.sha256("\n".join(sorted(rows)).encode()).hexdigest() == CAMPAIGN["rows_sha256"]


def test_every_cell_of_the_verdicts(campaign: Path) -> None:
    """Verdict, name, limit, estimate, interval and number of blocks. The wording of notes may change."""
    result = inside("judge", str(campaign))
    assert result.returncode == 3, result.stderr
    lines = [line for line in result.stdout.splitlines() if re.match("PASS|FAIL|INCONCLUSIVE|INVALID", line)]
    assert [re.split(" {2,}", line)[:6] for line in lines] == CAMPAIGN["cells"]


@pytest.mark.parametrize("name", sorted(CAPTURES))
def test_every_record_of_the_captures(name: str) -> None:
    record = collect(DATA / "launches" / name)
    tool = record.launch.tool if record.launch else ""
    rows = sorted(
        [
            row.benchmark,
            as_recorded(tool, row.case or ""),
            row.metric,
            -1 if row.msg_size_bytes is None else row.msg_size_bytes,
            row.value,
        ]
        for row in record.rows
    )
    attestation = record.attestation
    assert {
        "id": record.launch.id if record.launch else None,
        "state": record.state,
        "attestation": attestation.state if attestation else None,
        "share": attestation.share if attestation else None,
        "sizes": [size.state for size in attestation.parts] if attestation else [],
        "rows": hashlib.sha256(json.dumps(rows).encode()).hexdigest(),
        "count": len(rows),
    } == CAPTURES[name]
