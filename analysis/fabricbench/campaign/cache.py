# SPDX-License-Identifier: Apache-2.0
"""Caches the records of a campaign in the user's cache directory.

Each campaign has one file with a line for each record: the key, a checksum over key and record, and the record as JSON.
The key is the digest of the launch's facts and of the code that reads them (``campaign/digest``). It is computed from
the present facts, so an entry of other facts or other code is never used. An entry with a wrong checksum is ignored.
Records are cached only in a directory that no other user can write to.
"""

import contextlib
import hashlib
import os
import pwd
import re
import secrets
import stat
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from fabricbench.files.reading import read_regular

CACHE = "FABRICBENCH_CACHE"
LARGEST_BYTES = 1 << 30
"""The largest total size of the cache, and the largest size of a file that is read."""
LONGEST_UNUSED_SECONDS = 30 * 86400.0
_TOUCH_SECONDS = 3600.0
_SUFFIX = ".records"
_OWN_NAME = re.compile(r"[0-9a-f]{64}\.records(\.[0-9a-f]{16})?")
_OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH


def record_cache_root() -> Path | None:
    """The directory of the cache: ``FABRICBENCH_CACHE``, else ``fabricbench`` in ``XDG_CACHE_HOME`` or in ``.cache`` of
    the home directory. None for a user without these."""
    if directory := os.environ.get(CACHE):
        return Path(directory).absolute()
    if (directory := os.environ.get("XDG_CACHE_HOME", "")).startswith("/"):
        return Path(directory, "fabricbench")
    home = os.environ.get("HOME", "")
    if not home:
        try:
            home = pwd.getpwuid(os.geteuid()).pw_dir
        except KeyError:
            return None
    return Path(home, ".cache/fabricbench") if home.startswith("/") else None


def read_entries(name: str) -> dict[str, bytes]:
    """The cached records of the file ``name``, as JSON by key; empty without a file that the user owns."""
    try:
        with _directory(make=False) as folder:
            file = name + _SUFFIX
            facts = os.stat(file, dir_fd=folder, follow_symlinks=False)
            _demand_own(facts)
            data = read_regular(file, LARGEST_BYTES, dir_fd=folder)
            if time.time() - facts.st_mtime > _TOUCH_SECONDS:  # its age is the time since it was last used
                os.utime(file, dir_fd=folder, follow_symlinks=False)
    except (OSError, ValueError):
        return {}
    return dict(_entries(data))


def write_entries(name: str, entries: Mapping[str, bytes]) -> None:
    """Replaces the cached records of the file ``name`` by these, JSON by key; does nothing if that is impossible."""
    lines = [_line(key, text) for key, text in sorted(entries.items())]
    temporary = f"{name}{_SUFFIX}.{secrets.token_hex(8)}"
    try:
        with _directory(make=True) as folder:
            try:
                flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
                with open(os.open(temporary, flags, 0o600, dir_fd=folder), "wb") as stream:
                    stream.writelines(lines)
                os.replace(temporary, name + _SUFFIX, src_dir_fd=folder, dst_dir_fd=folder)
            except BaseException:
                with contextlib.suppress(OSError):
                    os.unlink(temporary, dir_fd=folder)
                raise
            _remove_old(folder)
    except (OSError, ValueError):
        return


def _entries(data: bytes) -> Iterator[tuple[str, bytes]]:
    for line in data.split(b"\n"):
        key, _, rest = line.partition(b" ")
        checksum, _, text = rest.partition(b" ")
        if len(key) == 64 and checksum == _checksum(key, text):
            yield key.decode("ascii", errors="replace"), text


def _line(key: str, text: bytes) -> bytes:
    return b"%s %s %s\n" % (key.encode(), _checksum(key.encode(), text), text)


def _checksum(key: bytes, text: bytes) -> bytes:
    return hashlib.sha256(key + b" " + text).hexdigest().encode()


@contextmanager
def _directory(*, make: bool) -> Iterator[int]:
    """A descriptor of the cache directory; raises OSError if it is missing or other users can write to it."""
    root = record_cache_root()
    if root is None:
        raise FileNotFoundError("no cache directory")
    if make:
        for folder in (root.parent, root):
            with contextlib.suppress(FileExistsError):
                folder.mkdir(mode=0o700)
    descriptor = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        _demand_own(os.fstat(descriptor))
        yield descriptor
    finally:
        os.close(descriptor)


def _demand_own(facts: os.stat_result) -> None:
    if facts.st_uid != os.geteuid() or facts.st_mode & _OTHERS_MAY_WRITE:
        raise PermissionError("others could have written it")


def _remove_old(folder: int) -> None:
    """Removes files unused for ``LONGEST_UNUSED_SECONDS``, and the oldest ones beyond ``LARGEST_BYTES``."""
    files = []
    for name in os.listdir(folder):
        if _OWN_NAME.fullmatch(name):
            facts = os.stat(name, dir_fd=folder, follow_symlinks=False)
            files.append((facts.st_mtime, facts.st_size, name))
    total, oldest = 0, time.time() - LONGEST_UNUSED_SECONDS
    for used, size, name in sorted(files, reverse=True):
        total += size
        if used < oldest or total > LARGEST_BYTES:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(name, dir_fd=folder)
