# SPDX-License-Identifier: Apache-2.0
"""Allows one set-up at a time in a build directory."""

import fcntl
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fabricbench.processes.leftovers import MARK, end_marked
from fabricbench.setup.record import Say


@contextmanager
def sole_set_up(root: Path, say: Say) -> Iterator[None]:
    """Holds the lock of the build directory, and ends the compilers of a set-up that was killed."""
    mark = f"setup-{hashlib.sha256(str(root).encode()).hexdigest()[:16]}"
    with (root / "lock").open("a") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"waiting for another set-up in {root}")
            fcntl.flock(stream, fcntl.LOCK_EX)
        end_marked(mark)
        os.environ[MARK] = mark
        try:
            yield
        finally:
            del os.environ[MARK]
