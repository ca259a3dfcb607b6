# SPDX-License-Identifier: Apache-2.0
"""The tables of perftest. The headers are from its source code; the tables are not captured from an RDMA device."""

import json
from pathlib import Path
from typing import Any

import pytest

from fabricbench.launch.facts import Launch
from fabricbench.parsers.output import Parsed, Unreadable
from fabricbench.parsers.tools import perftest
from support.launches import LAUNCHES

LATENCY = """\
#@round=0 value=2
---------------------------------------------------------------------------------------
                    Send Latency Test
 Dual-port       : OFF          Device         : mlx5_0
---------------------------------------------------------------------------------------
 #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec]
 2       1000          0.98           4.45         1.01                1.02             0.06            1.97                    4.45
---------------------------------------------------------------------------------------
#@end=ok
"""  # noqa: E501

BANDWIDTH = """\
#@round=0 value=65536
 #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]
 65536      1000             97.90              97.50              0.185966
#@end=ok
"""


def perftest_launch(benchmark: str, size: int) -> Launch:
    facts: dict[str, Any] = json.loads((LAUNCHES / "ucx-tcp-pingpong-small/launch.json").read_text())
    argv = ("pair", "--each", str(size), "--", "s", "::", "c", "-n", "1000")
    return Launch.model_validate(facts | {"tool": "perftest", "benchmark": benchmark, "case": {}, "argv": argv})


def perftest_parsed(tmp_path: Path, text: str, launch: Launch) -> Parsed:
    (tmp_path / "stdout").write_text(text)
    return perftest.parse(tmp_path, launch)


def test_perftests_tables(tmp_path: Path) -> None:
    parsed = perftest_parsed(tmp_path, LATENCY, perftest_launch("pingpong", 2))
    assert {row.metric: row.value for row in parsed.rows} == {"latency": 1.01, "latency_mean": 1.02}
    assert parsed.payload is not None
    assert (parsed.payload.bytes, parsed.payload.messages) == (4000, 2000)
    parsed = perftest_parsed(tmp_path, LATENCY, perftest_launch("get", 2))
    assert {row.metric: row.value for row in parsed.rows} == {"time": 1.02}
    parsed = perftest_parsed(tmp_path, BANDWIDTH, perftest_launch("put_stream", 65536))
    assert {row.metric: row.value for row in parsed.rows} == {"stream_bandwidth": pytest.approx(12187.5)}


@pytest.mark.parametrize(
    ("text", "benchmark", "size", "message"),
    [
        (LATENCY.replace(" 2       1000", " 4       1000"), "pingpong", 2, "2 bytes and 1000 iterations"),
        (LATENCY.replace("1000  ", "999  "), "pingpong", 2, "2 bytes and 1000 iterations"),
        (LATENCY.replace("t_typical", "t_tipical"), "pingpong", 2, r"the column t_typical\[usec\]"),
        (LATENCY.replace("1.01 ", "nan "), "pingpong", 2, "a finite number"),
        (LATENCY.replace("1.97", ""), "pingpong", 2, "9 columns"),
        (LATENCY.replace("#bytes", "bytes"), "pingpong", 2, "a table with a row of 2 bytes"),
        (LATENCY, "stream", 2, r"the column BW average\[Gb/sec\]"),
        (BANDWIDTH.replace("Gb/sec", "MB/sec"), "stream", 65536, r"the column BW average\[Gb/sec\]"),
        (BANDWIDTH, "bcast", 65536, "a known benchmark, not 'bcast'"),
    ],
)
def test_text_without_a_perftest_table(tmp_path: Path, text: str, benchmark: str, size: int, message: str) -> None:
    with pytest.raises(Unreadable, match=message):
        perftest_parsed(tmp_path, text, perftest_launch(benchmark, size))
