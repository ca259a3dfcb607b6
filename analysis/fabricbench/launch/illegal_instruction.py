# SPDX-License-Identifier: Apache-2.0
"""Recognises launches whose program died of an illegal instruction, and says which processor it was built for."""

import re
import signal
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from fabricbench.files.reading import read_ends
from fabricbench.launch.facts import End, Launch
from fabricbench.launch.host import Host
from fabricbench.site.targets import in_words, set_up_for

_TEXT = re.compile(r"illegal instruction|\bSIGILL\b", re.IGNORECASE)
"""What launchers print about a rank that SIGILL killed."""
_BY_SHELL = 128 + signal.SIGILL
_ENDS_BYTES = 1 << 16


def died_of_illegal_instruction(directory: Path, end: End) -> bool:
    """Returns whether SIGILL ended the launch in ``directory``: by its end, or by what its launcher printed."""
    if end.signal == signal.SIGILL or end.status == _BY_SHELL:
        return True
    return any(_TEXT.search(_output(directory / name)) for name in ("stderr", "stdout"))


def illegal_instruction(launch: Launch, hosts: Sequence[Host]) -> str:
    """Returns the reason and the hint for a launch that died of an illegal instruction."""
    program = Path(launch.argv[0]).name if launch.argv else launch.tool
    if launch.target is None:
        return f"illegal instruction: {program} was built for another processor than that of the nodes"
    by_lack: dict[tuple[str, ...], list[Host]] = defaultdict(list)
    for host in hosts:
        if host.instructions is not None:
            by_lack[launch.target.lacking(host.instructions)].append(host)
    built = f"illegal instruction: {program} was built for {launch.target.text}"
    lacks = [
        f"the processor of {', '.join(host.host for host in nodes)} lacks {in_words(lack)}"
        for lack, nodes in sorted(by_lack.items())
        if lack
    ]
    if not lacks:
        return f"{built}, whose instructions the nodes have" if by_lack else built
    common = set.intersection(*(set(host.instructions) for host in hosts if host.instructions is not None))
    again = ", then name the source again" if launch.case.get("code") == "nasa" else ""
    return f"{built}, {'; '.join(lacks)}; run: {set_up_for(common)}{again}"


def _output(file: Path) -> str:
    try:
        return read_ends(file, _ENDS_BYTES, _ENDS_BYTES).decode("utf-8", errors="replace")
    except OSError:
        return ""
