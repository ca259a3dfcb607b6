# SPDX-License-Identifier: Apache-2.0
"""How a stack's MPI library is recognised by the text of ``MPI_Get_library_version``."""

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Library:
    """The MPI library that the settings of a stack are for.

    ``name`` is its name for people. ``version`` is a regular expression that only this library's text matches.
    ``device`` is what the name of the library's device must contain, as MPICH and MVAPICH2 print it
    (``MPICH Device: ch4:ucx``); empty if the settings are for every device. MPICH 3 prints ``ch3:nemesis`` without the
    network module, and the module in its options of configure.
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
        device = _device(text)
        if self.device in device:
            return ""
        actual = f"its device is {device[:40]}" if device else "it names no device"
        return f"{actual}; the settings of the stack are for {self.device}"


def _device(text: str) -> str:
    """Returns the device in a library's text; MPICH 5 of PyPI has two: ``ch4:ucx ofi``. Empty if there is none."""
    device = re.search(r"Device\s*:[ \t]*(\S.*)", text)
    if device is None:
        return ""
    name = device[1].strip()
    module = re.search(rf"--with-device={re.escape(name)}(:[\w:,]+)", text)
    return name + module[1] if module else name


def first_line(text: str) -> str:
    """Returns the first line of a text with single blanks, as ``fabricbench-micro`` prints it."""
    line, *_ = [*text.strip().splitlines(), ""]
    return " ".join(line.split())
