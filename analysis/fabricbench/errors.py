# SPDX-License-Identifier: Apache-2.0
"""The exception for every error that the user can correct."""

import difflib
from collections.abc import Iterable


class BadInput(Exception):
    """Wrong use or bad input. The command line prints it as one line and exits with status 2.

    ``what``: the error; ``where``: its place, such as a file and line or an option; ``expected``: the accepted values;
    ``hint``: what to do. The last three may be empty.
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


def nearest(name: str, candidates: Iterable[str]) -> str:
    """The known names that are most similar to an unknown ``name``, else all of them, as text."""
    names = sorted(set(candidates))
    if not names:
        return "nothing: none is known here"
    close = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    return ", ".join(close) if close else "one of " + ", ".join(names[:20])
