# SPDX-License-Identifier: Apache-2.0
"""Compares a profile with its two other witnesses: the application's own timers and the bytes on the sockets."""

from collections.abc import Sequence

from fabricbench.launch.facts import Launch, joined_case
from fabricbench.launch.record import Agreement, Row, Traffic
from fabricbench.parsers.output import TimedCalls
from fabricbench.parsers.tau.model import Profile
from fabricbench.parsers.tau.rows import SYNC_CALL
from fabricbench.parsers.tau.wire_bytes import wire_bytes

TIMER_SHARE = 0.02
"""Largest difference between a timer and the time of its MPI calls, as a share of the run time."""
BYTES_SHARE = 0.1
"""Accepted excess of sockets over the bytes of the calls, and shortfall below them, as a share."""
BYTES_PER_MESSAGE = 256
"""Accepted bytes of the stack's protocol per message: headers, requests to send and acknowledgements."""

_UNPROFILED = "Unprofiled MPI Functions"


def agreements(
    profile: Profile,
    launch: Launch,
    rows: Sequence[Row],
    timed_calls: Sequence[TimedCalls],
    traffic: Traffic | None,
) -> tuple[Agreement, ...]:
    """Returns how a profile agrees with the other witnesses of the same launch; empty for one rank.

    ``rows``: those of the application and of the profile. ``timed_calls``: which rows of the application contain the
    time of which calls, as its parser declares.
    """
    if launch.ranks == 1:
        return _completeness(profile)
    region = all(thread.region for thread in profile.threads if not thread.thread)
    timers = [_timer(launch, rows, item) for item in timed_calls if item.region == region]
    return (*_completeness(profile), *(item for item in timers if item), *_sockets(profile, launch, traffic))


def _completeness(profile: Profile) -> tuple[Agreement, ...]:
    """Returns the disagreement of a profile that lacks functions which the program uses."""
    names = sorted({name for thread in profile.threads for name in thread.metadata.get(_UNPROFILED, "").split()})
    if not names:
        return ()
    return (
        Agreement(
            witness="imports",
            what="MPI functions that the program imports and the profiler does not know",
            profile=0.0,
            other=float(len(names)),
            least=0.0,
            most=0.0,
            unit="functions",
            reason=", ".join(names),
        ),
    )


def _timer(launch: Launch, rows: Sequence[Row], item: TimedCalls) -> Agreement | None:
    """Returns the comparison of one timer; None if the launch has no such row."""
    case = joined_case(launch.case, item.case)
    timed = next((row.value for row in rows if row.metric == item.metric and row.case == case), None)
    run_time = next((row.value for row in rows if row.metric == "run_time"), None)
    if timed is None or run_time is None:
        return None
    cases = {joined_case(launch.case, f"call={call}") for call in item.calls}
    in_mpi = sum(
        row.value
        for row in rows
        if row.metric == "mpi_time"
        and (row.case in cases if cases else any(part.startswith("call=") for part in row.case.split()))
    )
    margin = TIMER_SHARE * run_time
    barriers = joined_case(launch.case, f"call={SYNC_CALL}")  # of any collective, so they only widen the limit
    waiting = sum(row.value for row in rows if row.metric == "mpi_time" and row.case == barriers) if cases else 0.0
    return Agreement(
        witness="timers",
        what=f"{item.metric}{f', {item.case}' if item.case else ''}: {', '.join(item.calls) or 'all calls of MPI'}",
        profile=in_mpi,
        other=timed,
        least=in_mpi - margin,
        most=in_mpi + waiting + margin,
        unit="s",
    )


def _sockets(profile: Profile, launch: Launch, traffic: Traffic | None) -> tuple[Agreement, ...]:
    """Returns the comparison with the sockets on a lane whose transport they are; empty on any other lane.

    A profile of TAU has no bytes by communicator, so it is not compared.
    """
    if launch.transport != "tcp" or traffic is None or launch.wireup is None or traffic.reports < launch.ranks:
        return ()
    total = wire_bytes(profile)
    if not total.most or total.unknown:
        return ()
    pairs = launch.ranks * (launch.ranks - 1) / 2
    known = launch.wireup.ranks * (launch.wireup.ranks - 1) / 2
    wireup = launch.wireup.bytes * max(1.0, pairs / max(1.0, known))
    return (
        Agreement(
            witness="sockets",
            what="bytes between the ranks",
            profile=total.least,
            other=float(traffic.bytes),
            least=(1 - BYTES_SHARE) * total.least,
            most=(1 + BYTES_SHARE) * total.most + BYTES_PER_MESSAGE * total.messages + 2 * wireup,
            unit="B",
        ),
    )
