# SPDX-License-Identifier: Apache-2.0
"""How a stack's MPI library is recognised by the text of ``MPI_Get_library_version``."""

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Library:
    """The MPI library that the settings of a stack are for.

    ``name`` is its name for people. ``version`` is a regular expression that only this library's text matches.
    ``device`` is what the name of the library's device must contain, as MPICH and MVAPICH2 print it
    (``MPICH Device: ch4:ucx``); empty if the settings are for every device.
    """

    name: str
    version: str
    device: str = ""

    def mismatch(self, text: str) -> str:
        """Returns the reason why the library with this text is another one; empty if it is this one."""
        if re.search(self.version, text) is None:
            return f"it is {first_line(text).partition(',')[0][:80]}, not {self.name}"
        if not self.device:
            return ""
        device = re.search(r"Device\s*:[ \t]*(\S.*)", text)  # MPICH 5 of PyPI has two: ch4:ucx ofi
        if device is not None and self.device in device[1]:
            return ""
        actual = f"its device is {device[1][:40]}" if device else "it names no device"
        return f"{actual}; the settings of the stack are for {self.device}"


def first_line(text: str) -> str:
    """Returns the first line of a text with single blanks, as ``fabricbench-micro`` prints it."""
    line, *_ = [*text.strip().splitlines(), ""]
    return " ".join(line.split())
