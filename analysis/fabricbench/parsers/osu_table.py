# SPDX-License-Identifier: Apache-2.0
"""The title and the column headings that each OSU program prints.

Sources: the code of 5.3, 5.3.2, 5.5, 5.6.3, 5.7 to 7.2 and 7.4, and published outputs of 7.3 and 7.5.
"""

import re
from collections.abc import Sequence

Version = tuple[int, ...]

TITLES = {
    "osu_latency": "OSU MPI Latency Test",
    "osu_bw": "OSU MPI Bandwidth Test",
    "osu_bibw": "OSU MPI Bi-Directional Bandwidth Test",
    "osu_multi_lat": "OSU MPI Multi Latency Test",
    "osu_mbw_mr": "OSU MPI Multiple Bandwidth / Message Rate Test",
    "osu_bw_fan_in": "OSU MPI Bandwidth Test",
    "osu_bw_fan_out": "OSU MPI Bandwidth Test",
    "osu_put_latency": "OSU MPI_Put Latency Test",
    "osu_put_bw": "OSU MPI_Put Bandwidth Test",
    "osu_put_bibw": "OSU MPI_Put Bi-directional Bandwidth Test",
    "osu_get_latency": "OSU MPI_Get latency Test",
    "osu_get_bw": "OSU MPI_Get Bandwidth Test",
    "osu_acc_latency": "OSU MPI_Accumulate latency Test",
    "osu_get_acc_latency": "OSU MPI_Get_accumulate latency Test",
    "osu_cas_latency": "OSU MPI_Compare_and_swap latency Test",
    "osu_fop_latency": "OSU MPI_Fetch_and_op latency Test",
    "osu_allreduce": "OSU MPI Allreduce Latency Test",
    "osu_allgather": "OSU MPI Allgather Latency Test",
    "osu_alltoall": "OSU MPI All-to-All Personalized Exchange Latency Test",
    "osu_bcast": "OSU MPI Broadcast Latency Test",
    "osu_reduce": "OSU MPI Reduce Latency Test",
    "osu_reduce_scatter": "OSU MPI Reduce_scatter Latency Test",
    "osu_gather": "OSU MPI Gather Latency Test",
    "osu_scatter": "OSU MPI Scatter Latency Test",
    "osu_barrier": "OSU MPI Barrier Latency Test",
}
"""The title of each program for buffers in host memory; the same in all versions."""

ONE_TITLE_SINCE: Version = (7, 4)
"""Before this version ``osu_mbw_mr`` may print its title twice: the releases labelled 5.9 (6.0 is one) to 7.3."""
_AVERAGE_SINCE: Version = (7, 4)
"""From this version the heading of the two-sided latency programs has the word average."""
_TITLE = re.compile(r"^# (OSU .*) v(\d{1,3}(?:\.\d{1,3}){1,3})$")
_PERCENTILE = re.compile(r"P\d{1,2} Tail (?:Lat\(us\)|BW\(MB/s\))")

_QUANTITIES = {
    "Size": "size",
    "Latency (us)": "value",
    "Avg Latency(us)": "value",
    "Bandwidth (MB/s)": "value",
    "MB/s": "value",
    "Messages/s": "message_rate",
    "Min Latency(us)": "time_min",
    "Max Latency(us)": "time_max",
    "Iterations": "iterations",
    "Validation": "validation",
}
"""The parser's name of the quantity in the column of each heading."""


def version_of(text: str) -> Version:
    """A version as a tuple of numbers, so that '5.3.2' is less than '7.4'."""
    return tuple(int(part) for part in text.split("."))


def title_in(line: str) -> tuple[str, Version] | None:
    """Title and version in a line of output; None if it is not a title of OSU."""
    match = _TITLE.match(line)
    return (match[1], version_of(match[2])) if match else None


def headings(program: str, version: Version, *, sized: bool, full: bool, validated: bool) -> list[str]:
    """The column headings, in order, of ``program`` (``osu_bw``) in ``version``.

    ``sized``: the table has message sizes. ``full`` and ``validated``: the options ``-f`` and ``-c`` were given.
    """
    if program == "osu_mbw_mr":
        measured = ["MB/s", "Messages/s"]
    elif program.endswith("bw"):
        measured = ["Bandwidth (MB/s)"]
    elif program.startswith("osu_bw_fan_"):
        measured = ["Avg Latency(us)"]  # 7.4 prints this heading above the bandwidth in MB/s
    elif full or (program in ("osu_latency", "osu_multi_lat") and version >= _AVERAGE_SINCE):
        measured = ["Avg Latency(us)"]
    else:
        measured = ["Latency (us)"]
    spread = ["Min Latency(us)", "Max Latency(us)", "Iterations"] if full else []
    return [*(["Size"] if sized else []), *measured, *spread, *(["Validation"] if validated else [])]


def columns(line: str, expected: Sequence[str], *, percentiles: bool) -> list[str] | None:
    """The quantity in each column below a header line; None if its headings are not ``expected``.

    ``percentiles``: the option ``-z`` was given, so columns of percentiles may follow.
    """
    titles = re.split(r"\s{2,}", line.removeprefix("# ").strip())
    prefix, more = titles[: len(expected)], titles[len(expected) :]
    if prefix != list(expected) or (more and not percentiles) or not all(map(_PERCENTILE.fullmatch, more)):
        return None
    return [*(_QUANTITIES[heading] for heading in prefix), *("percentile" for _ in more)]
