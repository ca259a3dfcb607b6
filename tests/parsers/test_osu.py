# SPDX-License-Identifier: Apache-2.0
"""OSU's tables of three versions: every number of the captured text, and what must not be taken for one."""

import contextlib
import random
import re
from pathlib import Path

import pytest

from fabricbench.campaign.collect import collect
from fabricbench.launch.facts import Launch
from fabricbench.launch.record import Row
from fabricbench.parsers.osu_table import TITLES
from fabricbench.parsers.output import Parsed, Unreadable
from fabricbench.parsers.tools.osu import PROGRAMS, parse, version_of

LAUNCHES = Path(__file__).resolve().parents[1] / "data/launches"
CAPTURES = sorted(path.name for path in LAUNCHES.glob("*-osu*") if not path.name.startswith("failed-"))
LATENCY = "mpich-tcp-osu74-latency-small"
ALLREDUCE = "mpich-tcp-osu532-allreduce-large"
BARRIER = "openmpi-shm-osu532-barrier"
PAIRS = "openmpi-tcp-osu74-mbw-mr-large"
ATOMIC = "openmpi-tcp-osu74-fop"
BANDWIDTH = "mpich-tcp-osu57-bw-large"

# The metrics of a captured table's columns, in order; None for a column that is no metric.
# A key with a version holds for that version's layout only.
COLUMNS: dict[str, list[str | None]] = {
    "osu_latency": ["latency", None],
    "osu_latency 5.7": ["latency"],
    "osu_bw": ["bandwidth"],
    "osu_mbw_mr": ["bandwidth", "message_rate", None],
    "osu_multi_lat": ["latency"],
    "osu_put_latency": ["latency"],
    "osu_get_acc_latency": ["latency"],
    "osu_put_bibw": ["bandwidth"],
    "osu_fop_latency": ["latency", None],
    "osu_allreduce": ["time", "time_min", "time_max", None],
    "osu_reduce_scatter": ["time", "time_min", "time_max", None, None],
    "osu_barrier": ["time", "time_min", "time_max", None],
}


def launch_of(name: str, **changes: object) -> Launch:
    return Launch.model_validate_json((LAUNCHES / name / "launch.json").read_bytes()).model_copy(update=changes)


def program_of(name: str) -> str:
    return Path(launch_of(name).argv[0]).name


def text_of(name: str) -> str:
    return (LAUNCHES / name / "stdout").read_text()


def parse_text(tmp_path: Path, text: str | bytes, launch: Launch) -> Parsed:
    (tmp_path / "stdout").write_bytes(text.encode() if isinstance(text, str) else text)
    return parse(tmp_path, launch)


def read_by_eye(name: str) -> dict[tuple[str, int | None], float]:
    """The rows of a captured table: independent of the parser's way to them."""
    program = program_of(name)
    columns = COLUMNS.get(f"{program} {launch_of(name).versions['osu']}", COLUMNS[program])
    values: dict[tuple[str, int | None], float] = {}
    for line in re.findall(r"^[ \d].*\d\.\d\d.*$", text_of(name), flags=re.MULTILINE):
        words = line.split()
        size = None if program == "osu_barrier" else int(words.pop(0))
        for metric, word in zip(columns, words, strict=True):
            if metric:
                values[metric, size] = float(word)
    return values


def as_dict(rows: tuple[Row, ...]) -> dict[tuple[str, int | None], float]:
    values = {(row.metric, row.msg_size_bytes): row.value for row in rows}
    assert len(values) == len(rows)
    return values


def test_captures_of_three_versions() -> None:
    titles = [re.search(r" v([\d.]+)$", text_of(name), flags=re.MULTILINE) for name in CAPTURES]
    assert {title.group(1) for title in titles if title} == {"5.3.2", "5.7", "7.4"}


@pytest.mark.parametrize("name", CAPTURES)
def test_every_number_of_the_captured_tables(name: str) -> None:
    parsed = parse(LAUNCHES / name, launch_of(name))
    assert as_dict(parsed.rows) == read_by_eye(name)
    assert not parsed.skips
    assert {row.benchmark for row in parsed.rows} == {PROGRAMS[program_of(name)].benchmark}


@pytest.mark.parametrize("name", CAPTURES)
def test_the_captured_tables_hold_what_the_launch_expects(name: str) -> None:
    wanted = {(item.metric, size) for item in launch_of(name).expected for size in item.msg_sizes_bytes or (None,)}
    assert set(as_dict(parse(LAUNCHES / name, launch_of(name)).rows)) == wanted


@pytest.mark.parametrize("name", CAPTURES)
def test_the_launches_version_is_recorded(name: str) -> None:
    assert f"v{launch_of(name).versions['osu']}\n" in text_of(name)


def test_the_case_is_the_launches() -> None:
    rows = parse(
        LAUNCHES / "openmpi-tcp-osu74-put-latency-small", launch_of("openmpi-tcp-osu74-put-latency-small")
    ).rows
    assert {row.case for row in rows} == {"sync=flush win=create"}
    assert {row.case for row in parse(LAUNCHES / PAIRS, launch_of(PAIRS)).rows} == {"pairs=1 window=64"}


SMALL = sum(2**k for k in range(15))  # 1 B to 16 KiB, 15 sizes
LARGE = sum(2**k for k in range(15, 21))  # 32 KiB to 1 MiB, 6 sizes


@pytest.mark.parametrize(
    ("name", "bytes_", "messages"),
    [
        # 220 iterations, each after 5 that warm up for the validation: there and back; a barrier per iteration
        (LATENCY, 220 * 6 * 2 * SMALL, 15 * 220 * (6 * 2 + 2)),
        # without validation no barrier, 3 iterations of 64 messages and one acknowledgement
        (BANDWIDTH, 3 * 64 * LARGE, 6 * 3 * 2),
        # 3 iterations of 6 windows, a barrier before each
        (PAIRS, 3 * 6 * 64 * LARGE, 6 * 3 * 6 * (2 + 2)),
        # a request and its answer
        ("openmpi-tcp-osu74-put-latency-small", 220 * SMALL, 15 * 220 * 2),
        # the old operand comes back
        ("openmpi-tcp-osu57-get-acc-latency-small", 220 * 2 * SMALL, 15 * 220 * 2),
        (ATOMIC, 220 * 2 * 4, 220 * 2),
        # every rank gets one message; a barrier after each call; 11 iterations
        (ALLREDUCE, 11 * 2 * LARGE, 6 * 11 * (2 + 2)),
        # from 8 B on; the two shares are the size; 6 calls and barriers an iteration
        ("mpich-shm-osu74-reduce-scatter-small", 220 * 6 * (SMALL - 7), 12 * 220 * 6 * (2 + 2)),
        (BARRIER, 0, 220 * 2),
    ],
)
def test_payload_counted_by_hand(name: str, bytes_: int, messages: int) -> None:
    payload = parse(LAUNCHES / name, launch_of(name)).payload
    assert payload is not None
    assert (payload.bytes, payload.messages) == (bytes_, messages)


def synthetic(program: str, head: str, *rows: str, version: str = "5.7") -> str:
    return "\n".join(["", f"# {TITLES[program]} v{version}", head, *rows, ""])


@pytest.mark.parametrize(
    ("program", "bytes_", "messages"),
    [
        ("osu_allreduce", 4, 4),
        ("osu_allgather", 12, 4),
        ("osu_alltoall", 12, 4),
        ("osu_bcast", 3, 3),
        ("osu_reduce", 3, 3),
        ("osu_reduce_scatter", 1, 4),
        ("osu_gather", 3, 3),
        ("osu_scatter", 3, 3),
    ],
)
def test_payload_of_four_ranks(tmp_path: Path, program: str, bytes_: int, messages: int) -> None:
    """Ten calls at 16 bytes, a barrier of four messages after each."""
    launch = launch_of(ALLREDUCE, ranks=4, argv=(program, "-m", "16:16", "-i", "8", "-x", "2", "-f"))
    head = "# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations"
    payload = parse_text(tmp_path, synthetic(program, head, "16  2.00  1.00  3.00  8"), launch).payload
    assert payload is not None
    assert (payload.bytes, payload.messages) == (10 * 16 * bytes_, 10 * (messages + 4))


def test_percentiles_are_read_over(tmp_path: Path) -> None:
    launch = launch_of(LATENCY, argv=("osu_latency", "-m", "8:8", "-i", "8", "-x", "2", "-z"))
    head = "# Size       Avg Latency(us)    P50 Tail Lat(us)    P95 Tail Lat(us)    P99 Tail Lat(us)"
    text = synthetic("osu_latency", head, "8   4.00  3.00  5.00  6.00", version="7.4")
    assert as_dict(parse_text(tmp_path, text, launch).rows) == {("latency", 8): 4.0}
    without = launch_of(LATENCY, argv=("osu_latency", "-m", "8:8", "-i", "8", "-x", "2"))
    with pytest.raises(Unreadable, match="stdout:3: expected the columns 'Size, Avg Latency"):
        parse_text(tmp_path, text, without)


def test_what_osu_rounds_to_nothing_is_a_skip(tmp_path: Path) -> None:
    launch = launch_of(BANDWIDTH, argv=("osu_bw", "-m", "1:2", "-i", "8", "-x", "2"))
    text = synthetic("osu_bw", "# Size      Bandwidth (MB/s)", "1   0.00", "2   0.01")
    parsed = parse_text(tmp_path, text, launch)
    assert as_dict(parsed.rows) == {("bandwidth", 2): 0.01}
    assert [(skip.benchmark, skip.case, skip.msg_size_bytes) for skip in parsed.skips] == [
        ("unidirectional", "window=64", 1)
    ]


@pytest.mark.parametrize(
    ("name", "old", "new", "expected"),
    [
        (LATENCY, "Pass", "Fail", "data that pass the validation, not 'Fail'"),
        (ATOMIC, "passed", "failed", "data that pass the validation, not 'failed'"),
        (ATOMIC, "PASSED", "FAILED", "data that pass the validation"),
        (LATENCY, "        Validation", "", "the columns 'Size, Avg Latency(us), Validation' of osu_latency"),
        (LATENCY, "Validation", "Checked", "not 'Size Avg Latency(us) Checked'"),
        (LATENCY, "Avg Latency(us)", "Avg Latency(ms)", "not 'Size Avg Latency(ms) Validation'"),
        (LATENCY, "Avg Latency(us)", "Latency (us)", "not 'Size Latency (us) Validation'"),
        (LATENCY, "MPI Latency", "MPI-CUDA Latency", "'OSU MPI Latency Test', not 'OSU MPI-CUDA Latency Test'"),
        (BANDWIDTH, "(MB/s)", "(MiB/s)", "stdout:2: expected the columns 'Size, Bandwidth (MB/s)' of osu_bw, not"),
        (PAIRS, "        Messages/s", "", "the columns 'Size, MB/s, Messages/s, Validation' of osu_mbw_mr"),
        (BARRIER, "Min", "Mid", "the columns 'Avg Latency(us), Min Latency(us), Max Latency(us), Iterations'"),
        (ATOMIC, "MPI_INT", "MPI_FLOAT", "the launch's datatype, mpi_int, not mpi_float"),
        (LATENCY, "# OSU MPI Latency Test v7.4\n", "", "OSU's title"),
        (LATENCY, "# OSU MPI Latency Test v7.4\n", "# OSU MPI Latency Test v7.4\n" * 2, "one world of 2 ranks"),
        (PAIRS, "pairs: 1", "pairs: 2", "pairs, 1, not 2"),
        (PAIRS, "window size: 64", "window size: 32", "messages in a window, 64, not 32"),
        (BARRIER, " 200\n", " 100\n", "200 iterations, not 100"),
        ("openmpi-tcp-osu74-put-latency-small", "MPI_Win_flush", "MPI_Win_lock/unlock", "synchronization"),
        ("openmpi-tcp-osu74-put-latency-small", "MPI_Win_create", "MPI_Win_allocate", "window creation"),
        (BANDWIDTH, "\n65536 ", "\n65537 ", "the row of 65536 bytes"),
        (BANDWIDTH, "\n65536 ", "\n6 5536 ", "2 columns"),
    ],
)
def test_what_contradicts_the_launch(tmp_path: Path, name: str, old: str, new: str, expected: str) -> None:
    assert old in text_of(name)
    with pytest.raises(Unreadable, match=re.escape(expected)):
        parse_text(tmp_path, text_of(name).replace(old, new), launch_of(name))


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


def printed_by(program: str, version: str, *, head: str | None = None) -> str:
    """The output of a program, a message of 64 bytes; with the header ``head`` in place of its own."""
    title, before, since = PRINTED[program]
    head = head or (since if version_of(version) >= (7, 4) else before)
    values = {COLLECTIVE: "64  2.00  1.00  3.00  8", ALONE: "  2.00  1.00  3.00  8", RATES: "64  2.00  31250.00"}
    return "\n".join(["", f"# {title} v{version}", head, values.get(head, "64   2.00"), ""])


def asked_of(program: str) -> Launch:
    options = ("-m", "64:64") if PROGRAMS[program].sized else ()
    return launch_of(LATENCY, argv=(f"/opt/osu/{program}", *options, "-i", "8", "-x", "2"), expected=())


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("program", PRINTED)
def test_title_and_columns_of_every_program_and_version(tmp_path: Path, program: str, version: str) -> None:
    rows = parse_text(tmp_path, printed_by(program, version), asked_of(program)).rows
    known = PROGRAMS[program]
    assert (rows[0].benchmark, rows[0].metric, rows[0].value) == (known.benchmark, known.metric, 2.0)


def test_every_program_has_its_title() -> None:
    assert set(PRINTED) == set(PROGRAMS) == set(TITLES)


@pytest.mark.parametrize("version", ["5.7", "7.4"])
@pytest.mark.parametrize("program", PRINTED)
def test_no_program_passes_with_the_output_of_another(tmp_path: Path, program: str, version: str) -> None:
    for other in PRINTED:
        if other != program:
            with pytest.raises(
                Unreadable, match=re.escape(f"stdout:2: expected {program}'s title '{TITLES[program]}'")
            ):
                parse_text(tmp_path, printed_by(other, version), asked_of(program))


@pytest.mark.parametrize("version", ["5.7", "7.4"])
@pytest.mark.parametrize("program", PRINTED)
def test_no_program_passes_with_the_columns_of_another(tmp_path: Path, program: str, version: str) -> None:
    own = PRINTED[program][2 if version == "7.4" else 1]
    for head in {COLLECTIVE, ALONE, LATENCIES, AVERAGES, BANDWIDTHS, RATES} - {own}:
        with pytest.raises(Unreadable, match=f"stdout:3: expected the columns .* of {program}, not"):
            parse_text(tmp_path, printed_by(program, version, head=head), asked_of(program))


def test_a_real_latency_table_is_no_bandwidth(tmp_path: Path) -> None:
    """It passed a requirement on bandwidth once."""
    launch = launch_of(LATENCY)
    argv = (launch.argv[0].replace("osu_latency", "osu_bw"), *launch.argv[1:])
    with pytest.raises(Unreadable, match="stdout:2: expected osu_bw's title 'OSU MPI Bandwidth Test', not"):
        parse_text(tmp_path, text_of(LATENCY), launch.model_copy(update={"argv": argv}))
    columns = text_of(LATENCY).replace("OSU MPI Latency", "OSU MPI Bandwidth")
    with pytest.raises(Unreadable, match=re.escape("stdout:4: expected the columns 'Size, Bandwidth (MB/s), Valid")):
        parse_text(tmp_path, columns, launch.model_copy(update={"argv": argv}))


def test_the_rate_program_may_print_its_title_twice_up_to_7_3(tmp_path: Path) -> None:
    for version in ("5.9", "7.0", "7.3"):
        title, _, rest = printed_by("osu_mbw_mr", version).lstrip().partition("\n")
        assert parse_text(tmp_path, f"{title}\n{title}\n\n{rest}", asked_of("osu_mbw_mr")).rows
        for apart in (f"{title}\n\n{title}\n{rest}", f"{title}\n{title}\n{rest}{title}\n{rest}"):
            with pytest.raises(Unreadable, match="one world of 2 ranks"):
                parse_text(tmp_path, apart, asked_of("osu_mbw_mr"))
    for program, version in (("osu_mbw_mr", "7.4"), ("osu_multi_lat", "7.1")):
        text = printed_by(program, version).replace("# OSU", f"# {TITLES[program]} v{version}\n# OSU", 1)
        with pytest.raises(Unreadable, match="one world of 2 ranks"):
            parse_text(tmp_path, text, asked_of(program))


def test_a_table_before_its_title(tmp_path: Path) -> None:
    with pytest.raises(
        Unreadable, match="stdout:1: expected OSU's title, '# OSU MPI Bandwidth Test v…', before a table"
    ):
        parse_text(tmp_path, f"{BANDWIDTHS}\n64   2.00\n# OSU MPI Bandwidth Test v5.7\n", asked_of("osu_bw"))


@pytest.mark.parametrize(
    "value", ["nan", "inf", "1_0", "１.00", "+1.00", "1e", "infinity", "-1.00", "1e999", "*****", "0x10"]
)
def test_what_is_no_value(tmp_path: Path, value: str) -> None:
    text = re.sub(r"(?m)^(65536 +)\S+", rf"\g<1>{value}", text_of(BANDWIDTH))
    with pytest.raises(Unreadable, match=r"stdout:\d+: expected a (finite )?number"):
        parse_text(tmp_path, text, launch_of(BANDWIDTH))


@pytest.mark.parametrize("name", CAPTURES)
def test_cut_off_at_any_byte(tmp_path: Path, name: str) -> None:
    """Only what comes after the table may be missing: what OSU says of validation behind it."""
    launch, raw = launch_of(name), (LAUNCHES / name / "stdout").read_bytes()
    whole = parse(LAUNCHES / name, launch)
    ends = [match.end() for match in re.finditer(rb"(?m)^[ \d].*\d\.\d\d.*\n", raw)]
    for cut in random.Random(7).sample(range(1, len(raw)), min(150, len(raw) - 1)):
        try:
            assert parse_text(tmp_path, raw[:cut], launch) == whole
            assert cut >= ends[-1]
        except Unreadable:
            assert cut < ends[-1] or raw[cut - 1 : cut] != b"\n"


@pytest.mark.parametrize("name", CAPTURES)
def test_a_hole_in_a_table_is_noticed(tmp_path: Path, name: str) -> None:
    lines = text_of(name).splitlines(keepends=True)
    for at, line in enumerate(lines):
        if re.match(r"^[ \d].*\d\.\d\d", line):
            with pytest.raises(Unreadable, match="row"):
                parse_text(tmp_path, "".join(lines[:at] + lines[at + 1 :]), launch_of(name))


def test_damage_is_unreadable_or_harmless(tmp_path: Path) -> None:
    draw, launch = random.Random(20261121), launch_of(LATENCY)
    raw = (LAUNCHES / LATENCY / "stdout").read_bytes()
    for _ in range(300):
        damaged = bytearray(raw)
        for _ in range(draw.randint(1, 4)):
            damaged[draw.randrange(len(damaged))] = draw.randrange(256)
        with contextlib.suppress(Unreadable):
            parse_text(tmp_path, bytes(damaged), launch)


@pytest.mark.parametrize("raw", [b"", b"\n\n", b"\0\1\2", b"\xff\xfe\n", b"no such file or directory\n"])
def test_what_is_no_output_of_osu(tmp_path: Path, raw: bytes) -> None:
    with pytest.raises(Unreadable):
        parse_text(tmp_path, raw, launch_of(LATENCY))


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        (("osu_unheard_of",), "a known program of OSU, not 'osu_unheard_of'"),
        ((), "a known program of OSU, not ''"),
        (("osu_latency", "-i", "8", "-x", "2"), "-m MIN:MAX among the arguments of osu_latency"),
        (("osu_latency", "-m", "0:8", "-i", "8", "-x", "2"), "-m MIN:MAX"),
        (("osu_latency", "-m", "1:8", "-x", "2"), "a whole number, not 'no -i'"),
        (("osu_latency", "-m", "1:8", "-i", "8", "-x", "-2"), "a whole number, not '-2'"),
    ],
)
def test_a_command_line_that_says_too_little(tmp_path: Path, argv: tuple[str, ...], expected: str) -> None:
    with pytest.raises(Unreadable, match=re.escape(expected)):
        parse_text(tmp_path, text_of(LATENCY), launch_of(LATENCY, argv=argv))


def test_a_real_validation_that_failed_gives_no_number() -> None:
    """OSU exits with 0 all the same."""
    for path in LAUNCHES.glob("failed-*-osu*"):
        record = collect(path)
        assert (record.state, record.rows) == ("unreadable", ())
        assert "data that pass the validation, not 'failed'" in record.reason


def test_versions_compare_as_numbers() -> None:
    assert sorted(["7.10", "5.3.2", "7.4", "5.10", "5.9"], key=version_of) == ["5.3.2", "5.9", "5.10", "7.4", "7.10"]
