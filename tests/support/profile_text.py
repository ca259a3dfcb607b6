# SPDX-License-Identifier: Apache-2.0
"""Builds texts of TAU's profile format as this project's profiler writes them."""

from collections.abc import Sequence

COLUMNS = "# Name Calls Subrs Excl Incl ProfileCalls # <metadata><attribute><name>Profiler</name>"
COLUMNS += "<value>fabricbench</value></attribute></metadata>"
EVENT_COLUMNS = "# eventname numevents max min mean sumsqr"


def timer(name: str, calls: object, microseconds: object, group: str = "MPI", inclusive: object = None) -> str:
    """The line of a timer. ``inclusive``: its inclusive time; that of ``microseconds`` if None."""
    total = microseconds if inclusive is None else inclusive
    return f'"{name}" {calls} 0 {microseconds} {total} 0 GROUP="{group}" '


def application(microseconds: float) -> str:
    return timer(".TAU application", 1, 0, "TAU_UTILITY", microseconds)


def region(microseconds: float) -> str:
    return timer("measured region", 1, 0, "TAU_USER", microseconds)


def part(call: str, params: str, calls: int, microseconds: float) -> str:
    """The line of the calls with certain parameters, ``<message size> = <8> <peer> = <same node>``."""
    return timer(f"{call}()   [ {params} ]  ", calls, microseconds, "TAU_PARAM | MPI")


def text(timers: Sequence[str], events: Sequence[str] = ()) -> str:
    """The text of one thread."""
    lines = [f"{len(timers)} templated_functions_MULTI_TIME", COLUMNS, *timers, "0 aggregates"]
    lines += [f"{len(events)} userevents", EVENT_COLUMNS, *events] if events else []
    return "".join(f"{line}\n" for line in lines)


def packed(*texts: tuple[int, int, str]) -> str:
    """The file of a node with the texts of these ranks and threads."""
    return "".join(f"# profile.{rank}.0.{thread}\n{body}" for rank, thread, body in texts)
