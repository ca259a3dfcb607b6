# SPDX-License-Identifier: Apache-2.0
"""The one error for everything that a user can put right."""

import difflib
from collections.abc import Iterable


class BadInput(Exception):
    """Wrong use or bad input: printed as one line, exit status 2.

    ``what`` is wrong, ``where`` it stands (a file and line, an option), what was ``expected``, and the
    ``hint``; the last three may be empty.
    """

    def __init__(self, what: str, *, where: str = "", expected: str = "", hint: str = "") -> None:
        self.what, self.where, self.expected, self.hint = what, where, expected, hint
        super().__init__(str(self))

    def __str__(self) -> str:
        text = f"{self.where}: {self.what}" if self.where else self.what
        if self.expected:
            text += f"; expected {self.expected}"
        if self.hint:
            text += f"; {self.hint}"
        return text


def nearest(name: str, known: Iterable[str]) -> str:
    """What to expect in place of an unknown ``name``: the nearest known names, or all of them."""
    names = sorted(set(known))
    if not names:
        return "nothing: none is known here"
    close = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    return ", ".join(close) if close else "one of " + ", ".join(names[:20])
