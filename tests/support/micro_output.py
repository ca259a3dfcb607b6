# SPDX-License-Identifier: Apache-2.0
"""Outputs of the project's own benchmarks: captures, and synthetic ones with known samples."""

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

from fabricbench.launch.facts import Launch
from fabricbench.parsers.output import Parsed
from fabricbench.parsers.tools.micro import COLUMNS, parse
from support.launches import launch_of

SMALL = "impi-tcp-micro-pingpong-small"
CAPTURES = (SMALL, "openmpi-shm-micro-pingpong-small", "openmpi-tcp-micro-pingpong-large")


def parse_text(tmp_path: Path, text: str | bytes, launch: Launch | None = None) -> Parsed:
    (tmp_path / "stdout").write_bytes(text.encode() if isinstance(text, str) else text)
    return parse(tmp_path, launch or launch_of(SMALL))


def synthetic(
    samples: Iterable[tuple[int, int, object]], *, ranks: object = 2, facts: str = "", verified: str = "yes"
) -> str:
    """Returns an output with these samples: (size, rank, value)."""
    samples = list(samples)
    counts = Counter(size for size, _rank, _value in samples)
    iteration_lines = [f"#@iterations.{size}={count}" for size, count in counts.items()]
    lines = [f"#@ranks={ranks}", *iteration_lines, facts, COLUMNS]
    lines += [f"pingpong,,{size},{rank},{at},{value},latency_us" for at, (size, rank, value) in enumerate(samples)]
    return "\n".join([*lines, f"#@verified={verified}", "#@end=ok", ""])


def values(parsed: Parsed) -> dict[tuple[str, int | None], float]:
    result = {(row.metric, row.msg_size_bytes): row.value for row in parsed.rows}
    assert len(result) == len(parsed.rows)
    return result


Series = tuple[str, str, object, dict[int, list[float]], Mapping[str, object]]
"""Metric, case, size, samples by rank, and facts that hold at this point."""


def output(benchmark: str, *series: Series, several: bool = False, reporting: int = 1) -> str:
    """Returns an output in the program's format: the facts of each series, then its samples."""
    lines = ["#@ranks=2", f"#@reporting_ranks={reporting}", COLUMNS]
    for metric, case, size, by_rank, facts in series:
        label = [metric] * several + [case.replace("=", ":").replace(" ", ",")] * bool(case)
        label += [] if size is None else [str(size)]
        count = len(next(iter(by_rank.values())))
        for key, value in {"iterations": count, **facts}.items():
            lines.append(f"#@{key}.{'.'.join(label) or 'all'}={value}")
        for rank, samples in by_rank.items():
            for at, value in enumerate(samples):
                lines.append(f"{benchmark},{case},{'' if size is None else size},{rank},{at},{value},{metric}")
    return "\n".join([*lines, "#@verified=yes", "#@end=ok", ""])


def by_case(parsed: Parsed) -> dict[tuple[str, str, int | None], float]:
    result = {(row.metric, row.case, row.msg_size_bytes): row.value for row in parsed.rows}
    assert len(result) == len(parsed.rows)
    return result
