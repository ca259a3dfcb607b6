# SPDX-License-Identifier: Apache-2.0
"""Parses IMB-P2P, -RMA, -NBC, -MT and IMB-MPI1's windows: every number of the captures, payload by hand."""

import re
from pathlib import Path

import pytest

from fabricbench.campaign.collect import collect
from fabricbench.launch.facts import Launch
from fabricbench.parsers.imb_table import Tables
from fabricbench.parsers.output import Parsed, Unreadable
from fabricbench.parsers.tools import imb, imb_mt, imb_nbc, imb_p2p, imb_rma
from support.launches import LAUNCHES, launch_of, text_of

MODULES = {"imb": imb, "imb_mt": imb_mt, "imb_nbc": imb_nbc, "imb_p2p": imb_p2p, "imb_rma": imb_rma}

WINDOWS = "impi-tcp-imb-windows-small"
PAIRS = "mpich-tcp-imb-pairs-small"
P2P = "mpich-tcp-imb-p2p-pairs-small"
PUT = "impi-tcp-imb-rma-put-small"
PASSIVE = "mpich-shm-imb-rma-truly-passive-put-small"
ACCUMULATE = "impi-tcp-imb-rma-accumulate-small"
ATOMICS = "impi-tcp-imb-rma-atomics"
ALLREDUCE = "impi-tcp-imb-nbc-allreduce-scatter-small"
IBARRIER = "impi-tcp-imb-nbc-ibarrier"
THREADS = "mpich-tcp-imb-mt-pt2pt-small"
CAPTURES = (WINDOWS, PAIRS, P2P, PUT, PASSIVE, ACCUMULATE, ATOMICS, ALLREDUCE, IBARRIER, THREADS)

Key = tuple[str, str, str, int | None]

COLUMNS = {
    "t_min[usec]": "time_min",
    "t_max[usec]": "time_max",
    "t_pure[usec]": "time_pure",
    "t_ovrl[usec]": "time_overlapped",
    "t_CPU[usec]": "time_computing",
    "overlap[%]": "overlap",
    "Msg/sec": "message_rate",
}


def parse(directory: Path, launch: Launch) -> Parsed:
    parsed: Parsed = MODULES[launch.tool].parse(directory, launch)
    return parsed


def parse_text(tmp_path: Path, text: str, launch: Launch) -> Parsed:
    (tmp_path / "stdout").write_text(text)
    return parse(tmp_path, launch)


def metric(title: str, benchmark: str, mode: str) -> str:
    """Returns the metric of a column, derived from the name of the benchmark."""
    both_ways = benchmark.startswith(("sendrecvmt", "exchangemt"))
    if title == "Mbytes/sec":
        return "exchange_bandwidth" if both_ways else "bandwidth"
    if title in ("t[usec]", "t_avg[usec]"):
        return "latency" if benchmark.startswith("pingpong") or mode == "NON-AGGREGATE" else "time"
    return COLUMNS[title]


def read_by_eye(text: str, launch: Launch) -> dict[Key, float]:
    """Reads the values of an output section by section, with code that is independent of the parser."""
    case = " ".join(f"{name}={value}" for name, value in sorted(launch.case.items()))
    values: dict[Key, float] = {}
    for section in text.split("# Benchmarking ")[1:]:
        benchmark = section.split()[0].lower()
        mode = "".join(re.findall(r"MODE: (\S+)", section))
        titles = re.findall(r"^ *(?:#bytes)? *#repetitions.*$", section, flags=re.MULTILINE)[0].split()
        for line in re.findall(r"^ +[\d. ]+$", section, flags=re.MULTILINE):
            row = dict(zip(titles, line.split(), strict=True))
            size = int(row["#bytes"]) // int(launch.case.get("threads", 1)) if "#bytes" in row else None
            for title in titles[titles.index("#repetitions") + 1 :]:
                name = metric(title, benchmark, mode)
                if size != 0 or "bandwidth" not in name:
                    value = float(row[title]) / (100 if title == "overlap[%]" else 1)
                    values[benchmark, f"mode={mode.lower()}" if mode else case, name, size] = round(value, 6)
    return values


def as_dict(parsed: Parsed) -> dict[Key, float]:
    values = {(row.benchmark, row.case, row.metric, row.msg_size_bytes): row.value for row in parsed.rows}
    assert len(values) == len(parsed.rows)
    return values


@pytest.mark.parametrize("name", CAPTURES)
def test_every_number_of_the_captured_tables(name: str) -> None:
    launch = launch_of(name)
    assert as_dict(parse(LAUNCHES / name, launch)) == read_by_eye(text_of(name), launch)


@pytest.mark.parametrize("name", CAPTURES)
def test_the_captured_tables_have_the_expected_rows(name: str) -> None:
    launch = launch_of(name)
    values = as_dict(parse(LAUNCHES / name, launch))
    expected = {
        (item.benchmark, item.case, item.metric, size)
        for item in launch.expected
        for size in item.msg_sizes_bytes or (None,)
    }
    own = " ".join(f"{key}={value}" for key, value in sorted(launch.case.items()))
    assert set(values) == {(benchmark, own if case is None else case, *rest) for benchmark, case, *rest in expected}


# The payloads of the small captures, counted by hand. Sizes 4 to 1024 sum to 2044, in 9 sizes; 0, 1, 2, … 1024 sum to
# 2047, in 12 sizes.
# All have 20 repetitions and two ranks; IMB-MPI1, -RMA and -NBC run them twice.
PAYLOADS = {
    # 64 messages per window in one direction, then in both; one message and its answer count per window
    WINDOWS: (2 * 20 * 64 * (1 + 2) * 2047, 2 * 20 * 12 * (2 + 2)),
    # five benchmarks with one message in each direction
    PAIRS: (2 * 20 * 5 * 2 * 2047, 2 * 20 * 5 * 2 * 12),
    # 2 untimed repetitions; five benchmarks of one message a rank and Birandom of two, Unirandom's do not count
    P2P: (22 * (5 * 2 + 4) * 2047, 22 * (4 * 2 + 4) * 12),
    # 4 to 16384 sum to 32764, in 13 sizes; in both modes: unidir 1, bidir 2, local 1; all local 1, one to all 1,
    # all to all 2, exchange 4; completed and answered each: unidir, bidir, exchange
    PUT: (2 * 20 * (2 * (1 + 2 + 1) + 1 + 1 + 2 + 4) * 32764, 2 * 20 * 13 * 3 * 2),
    # two puts with their answers, and a barrier of two messages each
    PASSIVE: (2 * 20 * 2 * 2044, 2 * 20 * 2 * 9 * (2 + 2)),
    # both modes: one direction, and a round trip; one mode has answers
    ACCUMULATE: (2 * 20 * 2 * (1 + 2) * 2044, 2 * 20 * 9 * 2 * 2),
    # 4 bytes: a round trip, and two messages with one back; both modes, one of which has answers
    ATOMICS: (2 * 20 * 2 * (2 + 3) * 4, 2 * 20 * 2 * 2),
    # two reductions with and without computation, 2 + 1 calls; at 0 bytes a barrier alone
    ALLREDUCE: (2 * 20 * 2 * 3 * 2 * 2044, 2 * 20 * 2 * 3 * (9 * (2 + 2) + 2)),
    IBARRIER: (0, 2 * 20 * 3 * 2),
    # 2 untimed repetitions, two threads; ping-pong, ping-ping, sendrecv one message a rank, exchange two
    THREADS: (22 * 2 * (3 * 2 + 4) * 2047, 22 * 4 * 2 * 12),
}


@pytest.mark.parametrize("name", CAPTURES)
def test_payload_counted_by_hand(name: str) -> None:
    payload = parse(LAUNCHES / name, launch_of(name)).payload
    assert payload is not None
    assert (payload.bytes, payload.messages) == PAYLOADS[name]


def box(title: str, processes: str, columns: str, *rows: str, mode: str = "") -> str:
    modes = ["#", f"#    MODE: {mode} ", "#"] if mode else []
    closing = "# All processes entering MPI_Finalize"
    return "\n".join(
        [f"# Benchmarking {title} ", f"# #processes = {processes}", *modes, columns, *rows, "", closing, ""]
    )


TIMES = "#bytes #repetitions t_min[usec] t_max[usec] t_avg[usec]"
TIME = "#bytes #repetitions t[usec] Mbytes/sec"
RATE = "#bytes #repetitions t[usec] Mbytes/sec Msg/sec"
OVERLAP = "#bytes #repetitions t_ovrl[usec] t_pure[usec] t_CPU[usec] overlap[%]"


@pytest.mark.parametrize(
    ("tool", "title", "columns", "bytes_", "messages"),
    [
        # 10 timed repetitions and an untimed one, of 8 bytes on four ranks
        ("imb_p2p", "PingPong", RATE, 11 * 4 * 8, 11 * 4),
        ("imb_p2p", "Birandom", RATE, 11 * 8 * 8, 11 * 8),
        ("imb_p2p", "Unirandom", RATE, 11 * 4 * 8, 0),
        ("imb_p2p", "Stencil2D (2 x 2)", RATE, 11 * 16 * 8, 11 * 8),
        ("imb_p2p", "Stencil3D (1 x 2 x 2)", RATE, 11 * 24 * 8, 11 * 12),
        ("imb_rma", "One_get_all", TIME, 3 * 10 * 8, 0),
        ("imb_rma", "All_put_all", TIMES, 12 * 10 * 8, 0),
        ("imb_rma", "Exchange_get", TIMES, 8 * 10 * 8, 4 * 10),
        ("imb_nbc", "Ibcast", OVERLAP, 2 * 3 * 10 * 8, 2 * (3 + 4) * 10),
        ("imb_nbc", "Ibcast_pure", TIMES, 3 * 10 * 8, (3 + 4) * 10),
        ("imb_nbc", "Ialltoallv", OVERLAP, 2 * 12 * 10 * 8, 2 * (4 + 4) * 10),
        ("imb_mt", "AllReduceMT", TIMES, 4 * 10 * 8, (4 + 5 * 4) * 10),
    ],
)
def test_payload_of_four_ranks(tmp_path: Path, tool: str, title: str, columns: str, bytes_: int, messages: int) -> None:
    launch = launch_of(PAIRS).model_copy(update={"tool": tool, "ranks": 4, "argv": ("IMB",)})
    row = f"  8 10 {' '.join(['1.0'] * (len(columns.split()) - 2))}"
    payload = parse_text(tmp_path, box(title, "4", columns, row) + "\n\n", launch).payload
    assert payload is not None
    assert (payload.bytes, payload.messages) == (bytes_, messages)


@pytest.mark.parametrize("name", CAPTURES)
@pytest.mark.parametrize("ranks", ["1", "4"])
def test_a_world_of_the_wrong_size_is_refused(tmp_path: Path, name: str, ranks: str) -> None:
    text = text_of(name).replace("# #processes = 2", f"# #processes = {ranks}")
    with pytest.raises(Unreadable, match=rf"stdout:\d+: expected 2 processes, not {ranks}"):
        parse_text(tmp_path, text, launch_of(name))


@pytest.mark.parametrize("threads", [1, 4])
def test_another_number_of_threads_is_refused(tmp_path: Path, threads: int) -> None:
    text = text_of(THREADS).replace("(threads: 2)", f"(threads: {threads})")
    with pytest.raises(Unreadable, match=rf"stdout:\d+: expected 2 threads, not {threads}"):
        parse_text(tmp_path, text, launch_of(THREADS))


def test_a_size_that_the_threads_cannot_divide(tmp_path: Path) -> None:
    text = re.sub(r"^( +)2048( +20 )", r"\g<1>2047\g<2>", text_of(THREADS), count=1, flags=re.MULTILINE)
    with pytest.raises(Unreadable, match="a multiple of 2 threads, not 2047"):
        parse_text(tmp_path, text, launch_of(THREADS))


@pytest.mark.parametrize("name", CAPTURES)
def test_cut_off_at_any_line_the_launch_is_unreadable_or_whole(tmp_path: Path, name: str) -> None:
    directory = tmp_path / "launch"
    directory.mkdir()
    for file in (LAUNCHES / name).iterdir():
        (directory / file.name).write_bytes(file.read_bytes())
    lines = text_of(name).splitlines(keepends=True)
    rows = collect(directory).rows
    last = max(at for at, line in enumerate(lines) if re.match(r"^ +\d", line))
    for count in sorted({*range(0, len(lines), 7), *range(last - 2, len(lines))}):
        (directory / "stdout").write_text("".join(lines[:count]))
        record = collect(directory)
        assert record.state in ("ok", "unreadable")
        assert record.rows == (rows if record.state == "ok" else ())
        assert record.state == "unreadable" or count > last
    assert rows


@pytest.mark.parametrize("length", [1, 2, 9])
def test_mt_without_its_last_line_is_cut(tmp_path: Path, length: int) -> None:
    with pytest.raises(Unreadable, match=r"an empty line, with which IMB-MT ends|columns|number"):
        parse_text(tmp_path, text_of(THREADS)[:-length], launch_of(THREADS))


@pytest.mark.parametrize("name", CAPTURES)
def test_a_column_more_or_less_is_refused(tmp_path: Path, name: str) -> None:
    header = re.compile(r"^( *(?:#bytes)? *#repetitions.*?)( +\S+)$", re.MULTILINE)
    for change in (r"\g<1>", r"\g<1>\g<2> defects"):
        with pytest.raises(Unreadable, match=r"stdout:\d+: expected the columns "):
            parse_text(tmp_path, header.sub(change, text_of(name), count=1), launch_of(name))


@pytest.mark.parametrize("word", ["nan", "inf", "-1.00", "<b>1</b>", "1,5"])
@pytest.mark.parametrize("name", CAPTURES)
def test_a_last_column_without_a_number(tmp_path: Path, name: str, word: str) -> None:
    text, replaced = re.subn(r"^( +\d[\d. ]* )[\d.]+$", rf"\g<1>{word}", text_of(name), count=1, flags=re.MULTILINE)
    assert replaced == 1
    with pytest.raises(Unreadable, match=r"stdout:\d+: expected a (finite )?number"):
        parse_text(tmp_path, text, launch_of(name))


def test_an_unknown_mode(tmp_path: Path) -> None:
    text = text_of(ACCUMULATE).replace("MODE: AGGREGATE", "MODE: AGGRAVATED")
    with pytest.raises(Unreadable, match="a known mode of accumulate, not 'aggravated'"):
        parse_text(tmp_path, text, launch_of(ACCUMULATE))


def test_a_benchmark_that_needs_more_processes(tmp_path: Path) -> None:
    launch = launch_of(P2P)
    text = "\n# !! Benchmark Stencil3D is invalid for 2 processes !!\n" + text_of(P2P)
    with pytest.raises(Unreadable, match="stdout:2: expected enough processes for Stencil3D"):
        parse_text(tmp_path, text, launch)


@pytest.mark.parametrize(
    "message",
    [
        'time-out.; Time limit (secs_per_sample * msg_sizes_list_len) is over; use "-time X"',
        'out-of-mem.; needed X=   1.500 GB; use flag "-mem X"',
        "int-overflow; The production rank*size caused int overflow; Stopping benchmark",
    ],
)
def test_a_size_that_imb_could_not_measure_is_a_skip(tmp_path: Path, message: str) -> None:
    launch = launch_of(ACCUMULATE)
    row = re.compile(r"^( +1024) +20 .*$", re.MULTILINE)
    text, replaced = row.subn(rf"\g<1> {message}", text_of(ACCUMULATE), count=1)
    assert replaced == 1
    whole, parsed = parse(LAUNCHES / ACCUMULATE, launch), parse_text(tmp_path, text, launch)
    (skip,) = parsed.skips
    assert (skip.benchmark, skip.case, skip.msg_size_bytes) == ("accumulate", "mode=non-aggregate", 1024)
    assert skip.reason == f"IMB: {message}"
    assert set(whole.rows) > set(parsed.rows)
    assert len(whole.rows) - len(parsed.rows) == 2  # latency and bandwidth


@pytest.mark.parametrize("tool", MODULES)
def test_every_benchmark_of_a_program_has_metrics_and_a_payload(tool: str) -> None:
    tables: Tables = MODULES[tool].TABLES
    assert set(tables) == set(MODULES[tool].BENCHMARKS)
    for modes in tables.values():
        assert len({table.mode for table in modes}) == len(modes)
        for table in modes:
            bytes_, messages = table.moves.at_least(8, 4)
            assert bytes_ + messages > 0
            assert len(set(table.metrics)) == len(table.metrics)
