# SPDX-License-Identifier: Apache-2.0
"""The record of a stack that is set up: its files, and how a new set-up removes them."""

from collections.abc import Callable
from pathlib import Path

from fabricbench.site.stacks import STACK_FILE

Say = Callable[[str], None]
"""A function that shows one line about the progress of a set-up."""
STAMP = "stamp"
"""File beside ``stack.json`` with the digest of everything that the stack was built from."""


def remove_record(home: Path) -> None:
    """Removes ``stack.json`` and the stamp of the stack in ``home``."""
    for name in (STACK_FILE, STAMP):
        (home / name).unlink(missing_ok=True)
