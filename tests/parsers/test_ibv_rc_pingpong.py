# SPDX-License-Identifier: Apache-2.0
"""The output of rdma-core's ibv_rc_pingpong. The lines are those of its version 44."""

import json
from pathlib import Path
from typing import Any

import pytest

from fabricbench.launch.facts import Launch
from fabricbench.parsers.output import Unreadable
from fabricbench.parsers.tools import ibv_rc_pingpong
from support.launches import LAUNCHES

OUTPUT = """\
#@round=0 value=4096
  local address:  LID 0x0000, QPN 0x000012, PSN 0xae0517, GID fd78:1::2
  remote address: LID 0x0000, QPN 0x000012, PSN 0xcc0eea, GID fd78:1::1
81920 bytes in 0.02 seconds = 32.77 Mbit/sec
10 iters in 0.02 seconds = 2000.00 usec/iter
#@end=ok
"""


def launch() -> Launch:
    facts: dict[str, Any] = json.loads((LAUNCHES / "ucx-tcp-pingpong-small/launch.json").read_text())
    argv = ("pair", "--each", "4096", "--", "s", "::", "c", "-n", "10")
    return Launch.model_validate(facts | {"tool": "ibv_rc_pingpong", "benchmark": "pingpong", "case": {}, "argv": argv})


def test_half_of_an_iteration_is_the_latency(tmp_path: Path) -> None:
    (tmp_path / "stdout").write_text(OUTPUT)
    parsed = ibv_rc_pingpong.parse(tmp_path, launch())
    assert {row.metric: row.value for row in parsed.rows} == {"latency": 1000.0, "bandwidth": 4.096}
    assert parsed.payload is not None
    assert (parsed.payload.bytes, parsed.payload.messages) == (81920, 20)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (OUTPUT.replace("81920 bytes", "8192 bytes"), "stdout:4: expected 81920 bytes, both ways"),
        (OUTPUT.replace("10 iters", "9 iters"), "stdout:5: expected 10 iterations"),
        (OUTPUT.replace("2000.00 usec", "nan usec"), "stdout:5: expected a"),
        (OUTPUT.replace("bytes in", "bits in"), "stdout:1: expected lines of bytes and of iterations"),
        (OUTPUT.replace("#@end=ok\n", ""), "the output is cut off"),
    ],
)
def test_another_output_is_unreadable(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "stdout").write_text(text)
    with pytest.raises(Unreadable, match=message):
        ibv_rc_pingpong.parse(tmp_path, launch())
