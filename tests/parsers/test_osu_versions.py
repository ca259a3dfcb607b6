# SPDX-License-Identifier: Apache-2.0
"""The titles and columns that each OSU program prints in each version."""

import re
from itertools import pairwise
from pathlib import Path

import pytest

from fabricbench.launch.facts import Launch
from fabricbench.parsers.osu_programs import PROGRAMS
from fabricbench.parsers.osu_table import TITLES, version_of
from fabricbench.parsers.output import Unreadable
from support.launches import launch_of, text_of
from support.osu_output import LATENCY, parse_text

COLLECTIVE = "# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations"


ALONE = "# Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations"


LATENCIES = "# Size          Latency (us)"


AVERAGES = "# Size       Avg Latency(us)"


BANDWIDTHS = "# Size      Bandwidth (MB/s)"


RATES = "# Size                  MB/s        Messages/s"


PRINTED = {
    "osu_latency": ("OSU MPI Latency Test", LATENCIES, AVERAGES),
    "osu_bw": ("OSU MPI Bandwidth Test", BANDWIDTHS, BANDWIDTHS),
    "osu_bibw": ("OSU MPI Bi-Directional Bandwidth Test", BANDWIDTHS, BANDWIDTHS),
    "osu_multi_lat": ("OSU MPI Multi Latency Test", LATENCIES, AVERAGES),
    "osu_mbw_mr": ("OSU MPI Multiple Bandwidth / Message Rate Test", RATES, RATES),
    "osu_bw_fan_in": ("OSU MPI Bandwidth Test", AVERAGES, AVERAGES),
    "osu_bw_fan_out": ("OSU MPI Bandwidth Test", AVERAGES, AVERAGES),
    "osu_put_latency": ("OSU MPI_Put Latency Test", LATENCIES, LATENCIES),
    "osu_put_bw": ("OSU MPI_Put Bandwidth Test", BANDWIDTHS, BANDWIDTHS),
    "osu_put_bibw": ("OSU MPI_Put Bi-directional Bandwidth Test", BANDWIDTHS, BANDWIDTHS),
    "osu_get_latency": ("OSU MPI_Get latency Test", LATENCIES, LATENCIES),
    "osu_get_bw": ("OSU MPI_Get Bandwidth Test", BANDWIDTHS, BANDWIDTHS),
    "osu_acc_latency": ("OSU MPI_Accumulate latency Test", LATENCIES, LATENCIES),
    "osu_get_acc_latency": ("OSU MPI_Get_accumulate latency Test", LATENCIES, LATENCIES),
    "osu_cas_latency": ("OSU MPI_Compare_and_swap latency Test", LATENCIES, LATENCIES),
    "osu_fop_latency": ("OSU MPI_Fetch_and_op latency Test", LATENCIES, LATENCIES),
    "osu_allreduce": ("OSU MPI Allreduce Latency Test", COLLECTIVE, COLLECTIVE),
    "osu_allgather": ("OSU MPI Allgather Latency Test", COLLECTIVE, COLLECTIVE),
    "osu_alltoall": ("OSU MPI All-to-All Personalized Exchange Latency Test", COLLECTIVE, COLLECTIVE),
    "osu_bcast": ("OSU MPI Broadcast Latency Test", COLLECTIVE, COLLECTIVE),
    "osu_reduce": ("OSU MPI Reduce Latency Test", COLLECTIVE, COLLECTIVE),
    "osu_reduce_scatter": ("OSU MPI Reduce_scatter Latency Test", COLLECTIVE, COLLECTIVE),
    "osu_gather": ("OSU MPI Gather Latency Test", COLLECTIVE, COLLECTIVE),
    "osu_scatter": ("OSU MPI Scatter Latency Test", COLLECTIVE, COLLECTIVE),
    "osu_barrier": ("OSU MPI Barrier Latency Test", ALONE, ALONE),
}
"""Title, heading up to 7.3 and heading from 7.4 on, as the programs print them."""


VERSIONS = ["5.3", "5.3.2", "5.5", "5.6.3", "5.7", "5.8", "5.9", "6.1", "6.2", "7.0", "7.1", "7.2", "7.3", "7.4", "7.5"]


def output_of(program: str, version: str, *, head: str | None = None) -> str:
    """Returns the output of a program for 64 bytes. ``head`` replaces the header of its version."""
    title, before, since = PRINTED[program]
    head = head or (since if version_of(version) >= (7, 4) else before)
    values = {COLLECTIVE: "64  2.00  1.00  3.00  8", ALONE: "  2.00  1.00  3.00  8", RATES: "64  2.00  31250.00"}
    return "\n".join(["", f"# {title} v{version}", head, values.get(head, "64   2.00"), ""])


def launch_for(program: str) -> Launch:
    options = ("-m", "64:64") if PROGRAMS[program].sized else ()
    return launch_of(LATENCY, argv=(f"/opt/osu/{program}", *options, "-i", "8", "-x", "2"), expected=())


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("program", PRINTED)
def test_title_and_columns_of_every_program_and_version(tmp_path: Path, program: str, version: str) -> None:
    rows = parse_text(tmp_path, output_of(program, version), launch_for(program)).rows
    program_ = PROGRAMS[program]
    assert (rows[0].benchmark, rows[0].metric, rows[0].value) == (program_.benchmark, program_.metric, 2.0)


def test_every_program_has_its_title() -> None:
    assert set(PRINTED) == set(PROGRAMS) == set(TITLES)


@pytest.mark.parametrize("version", ["5.7", "7.4"])
@pytest.mark.parametrize("program", PRINTED)
def test_the_output_of_another_program_is_refused(tmp_path: Path, program: str, version: str) -> None:
    for other in PRINTED:
        if TITLES[other] != TITLES[program]:
            with pytest.raises(
                Unreadable, match=re.escape(f"stdout:2: expected {program}'s title '{TITLES[program]}'")
            ):
                parse_text(tmp_path, output_of(other, version), launch_for(program))


@pytest.mark.parametrize("version", ["5.7", "7.4"])
@pytest.mark.parametrize("program", PRINTED)
def test_the_columns_of_another_program_are_refused(tmp_path: Path, program: str, version: str) -> None:
    own = PRINTED[program][2 if version == "7.4" else 1]
    for head in {COLLECTIVE, ALONE, LATENCIES, AVERAGES, BANDWIDTHS, RATES} - {own}:
        with pytest.raises(Unreadable, match=f"stdout:3: expected the columns .* of {program}, not"):
            parse_text(tmp_path, output_of(program, version, head=head), launch_for(program))


def test_a_captured_latency_table_is_not_a_bandwidth_table(tmp_path: Path) -> None:
    """An earlier parser accepted this table, and it passed a requirement on bandwidth."""
    launch = launch_of(LATENCY)
    argv = (launch.argv[0].replace("osu_latency", "osu_bw"), *launch.argv[1:])
    with pytest.raises(Unreadable, match="stdout:2: expected osu_bw's title 'OSU MPI Bandwidth Test', not"):
        parse_text(tmp_path, text_of(LATENCY), launch.model_copy(update={"argv": argv}))
    columns = text_of(LATENCY).replace("OSU MPI Latency", "OSU MPI Bandwidth")
    with pytest.raises(Unreadable, match=re.escape("stdout:4: expected the columns 'Size, Bandwidth (MB/s), Valid")):
        parse_text(tmp_path, columns, launch.model_copy(update={"argv": argv}))


def test_the_rate_program_may_print_its_title_twice_up_to_7_3(tmp_path: Path) -> None:
    for version in ("5.9", "7.0", "7.3"):
        title, _, rest = output_of("osu_mbw_mr", version).lstrip().partition("\n")
        assert parse_text(tmp_path, f"{title}\n{title}\n\n{rest}", launch_for("osu_mbw_mr")).rows
        for apart in (f"{title}\n\n{title}\n{rest}", f"{title}\n{title}\n{rest}{title}\n{rest}"):
            with pytest.raises(Unreadable, match="one world of 2 ranks"):
                parse_text(tmp_path, apart, launch_for("osu_mbw_mr"))
    for program, version in (("osu_mbw_mr", "7.4"), ("osu_multi_lat", "7.1")):
        text = output_of(program, version).replace("# OSU", f"# {TITLES[program]} v{version}\n# OSU", 1)
        with pytest.raises(Unreadable, match="one world of 2 ranks"):
            parse_text(tmp_path, text, launch_for(program))


def test_versions_compare_as_numbers() -> None:
    assert sorted(["7.10", "5.3.2", "7.4", "5.10", "5.9"], key=version_of) == ["5.3.2", "5.9", "5.10", "7.4", "7.10"]


def test_a_table_before_its_title(tmp_path: Path) -> None:
    with pytest.raises(
        Unreadable, match="stdout:1: expected OSU's title, '# OSU MPI Bandwidth Test v…', before a table"
    ):
        parse_text(tmp_path, f"{BANDWIDTHS}\n64   2.00\n# OSU MPI Bandwidth Test v5.7\n", launch_for("osu_bw"))


def test_osus_bandwidth_is_not_taken_for_a_fan(tmp_path: Path) -> None:
    """The three programs have one title. 7.4 prints the heading of latencies over the bandwidth of a fan."""
    for program, other in (("osu_bw", "osu_bw_fan_in"), ("osu_bw_fan_out", "osu_bw")):
        with pytest.raises(Unreadable, match=r"stdout:3: expected the columns"):
            parse_text(tmp_path, output_of(other, "7.4"), launch_for(program))


@pytest.mark.parametrize("program", ["osu_bw_fan_in", "osu_bw_fan_out"])
def test_a_fan_of_four_nodes(tmp_path: Path, program: str) -> None:
    """Three windows of 64 messages, and an acknowledgement of each, in every repetition."""
    launch = launch_for(program).model_copy(update={"ranks": 4, "nodes": 4})
    parsed = parse_text(tmp_path, output_of(program, "7.4"), launch)
    ((metric, value),) = [(row.metric, row.value) for row in parsed.rows]
    assert (metric, value) == ("bandwidth", 2.0)
    words = dict(pairwise(launch.argv))
    repetitions = int(words["-i"]) + int(words["-x"])
    assert parsed.payload is not None
    assert (parsed.payload.bytes, parsed.payload.messages) == (repetitions * 3 * 64 * 64, repetitions * 6)
