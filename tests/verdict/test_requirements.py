# SPDX-License-Identifier: Apache-2.0
"""The meaning of requirements.yaml, and every error in it with its file and line."""

import re
from pathlib import Path

import pytest

from fabricbench.errors import BadInput
from fabricbench.site.requirements import AbsoluteBound, SizeSelection, absolute_bounds, as_reference, check_names
from fabricbench.site.requirements_file import load_requirements
from verdict.synthetic_table import entry, requirements

REPOSITORY = Path(__file__).parents[2]
HEAD = "schema: 1\nrequirements:\n"
GOOD = entry(fabric="tcp", msg_size_bytes=8)


def test_the_example_of_the_docs_loads(tmp_path: Path) -> None:
    page = (REPOSITORY / "docs/verdicts.md").read_text()
    examples = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    file = tmp_path / "requirements.yaml"
    file.write_text("".join(examples))
    assert [item.bound for item in load_requirements(file).items] == [
        "at most 0.5",
        "at most 200 us",
        "within 0.9 to 1.1",
        "at most 12 us",
        "at least 2.8",
    ]


def test_the_local_site_loads_with_its_own_names() -> None:
    names = {
        "tool": ["imb", "micro"],
        "benchmark": ["pingpong", "barrier", "allreduce"],
        "fabric": ["shm", "tcp"],
        "stack": ["impi", "mpich", "openmpi"],
    }
    result = load_requirements(REPOSITORY / "site/local/requirements.yaml", names)
    assert len(result.items) == 8
    assert [item.bound for item in result.items if not item.relative] == [
        "at most 50 us",
        "at most 500 us",
        "at least 50 MB/s",
    ]


@pytest.mark.parametrize(
    ("written", "sizes"),
    [
        ("8", SizeSelection((8,))),
        ("64 KiB", SizeSelection((65536,))),
        ("[4 MiB, 0, 8 B, 8]", SizeSelection((0, 8, 4 << 20))),
        ("{from: 8, to: 1 KiB}", SizeSelection(low=8, high=1024)),
        ("{to: 1024}", SizeSelection(high=1024)),
    ],
)
def test_sizes_of_a_requirement(tmp_path: Path, written: str, sizes: SizeSelection) -> None:
    assert requirements(tmp_path, entry(msg_size_bytes=written)).items[0].sizes == sizes


def test_selected_sizes() -> None:
    sizes = [None, 0, 8, 1024, 2048]
    expectation = [
        SizeSelection(),
        SizeSelection((8,)),
        SizeSelection(low=8, high=1024),
        SizeSelection(low=8),
        SizeSelection(high=8),
    ]
    assert [[size for size in sizes if one.contains(size)] for one in expectation] == [
        sizes,
        [8],
        [8, 1024],
        [8, 1024, 2048],
        [0, 8],
    ]


@pytest.mark.parametrize(
    ("bound", "relative", "lower", "upper"),
    [
        ("at_most: 200 us", "", None, 200.0),
        ("at_least: 1e2 us", "", 100.0, None),
        ("within: [1 us, 2.5 us]", "", 1.0, 2.5),
        ("at_most: 1e-1", "fabric: tcp", None, 0.1),
        ("within: [0.9, 1.1]", "tool: imb, metric: latency_mean", 0.9, 1.1),
    ],
)
def test_bounds_of_a_requirement(
    tmp_path: Path, bound: str, relative: str, lower: float | None, upper: float | None
) -> None:
    (item,) = requirements(tmp_path, entry("a", bound, relative)).items
    assert (item.lower, item.upper) == (lower, upper)
    assert item.unit == ("ratio" if relative else "us")


def test_the_bounds_that_one_launch_can_violate(tmp_path: Path) -> None:
    result = requirements(
        tmp_path,
        entry("all"),
        entry("tcp", "at_most: 5 us", fabric="tcp", stack="[mpich, impi]", msg_size_bytes=8),
        entry("ratio", "at_most: 2", "fabric: tcp", fabric="shm"),
        entry("imb", "at_least: 5 us", tool="imb"),
        entry("ranks", "at_most: 1 us", ranks=4),
        entry("plain", "at_most: 7 us", variant="''"),
    )
    bounds = absolute_bounds(result, tool="micro", fabric="tcp", stack="mpich")
    assert [(b.benchmark, b.metric, b.lower, b.upper, b.unit) for b in bounds] == [
        ("pingpong", "latency", None, upper, "us") for upper in (10.0, 5.0, 7.0)
    ]
    assert bounds[1].sizes.contains(8)
    assert not bounds[1].sizes.contains(16)
    assert [b.upper for b in absolute_bounds(result, tool="micro", fabric="tcp", stack="openmpi")] == [
        10.0,
        7.0,
    ]
    assert [b.upper for b in absolute_bounds(result, tool="micro", fabric="tcp", stack="a", variant="v")] == [10.0]


def _wrong(old: str, new: str) -> str:
    assert old in GOOD
    return HEAD + GOOD.replace(old, new)


WRONG = [
    ("", 1, "empty", "schema: 1"),
    ("# nothing\n", 1, "empty", "schema: 1"),
    ("- a\n", 1, "the file is a list", "a mapping"),
    ("schema: 1\n", 1, "lacks 'requirements'", "requirements"),
    (HEAD, 2, "requirements is empty", "at least one"),
    ("schema: 1\nrequirements: []\n", 2, "an empty list", "at least one"),
    ("schema: 2\nrequirements: []\n", 1, "schema is '2'", "1"),
    ("schema: one\nrequirements: []\n", 1, "schema is 'one'", "whole number"),
    (HEAD + "  - 7\n", 3, "a requirement is '7'", "a mapping"),
    ("schema: 1\nrequirement: []\n", 2, "unknown key 'requirement'", "requirements"),
    (HEAD + GOOD + "    at_mots: 3\n", 7, "unknown key 'at_mots'", "at_most"),
    (HEAD + GOOD + "    at_least: 3 us\n", 3, "more than one bound", "exactly one"),
    (HEAD + GOOD + "    at_most: 3 us\n", 7, "duplicate key 'at_most'", "line 6"),
    (HEAD + GOOD + GOOD, 7, "duplicate id 'lat'", "line 3"),
    (_wrong("    at_most: 10 us\n", ""), 3, "no bound", "at_most, at_least, within"),
    (_wrong("id: lat", "id: a/b"), 3, "id is 'a/b'", "letters"),
    (_wrong("id: lat", "id: 7"), 3, "id is '7'", "text"),
    (_wrong("text: lat is good", "text: ''"), 4, "text is empty", "text"),
    (_wrong("metric: latency", "metric: latancy"), 5, "unknown metric 'latancy'", "latency"),
    (_wrong("metric: latency", "metric: [latency]"), 5, "metric is a list", "text"),
    (_wrong("fabric: tcp", "fabrik: tcp"), 5, "unknown key 'fabrik'", "fabric"),
    (_wrong("fabric: tcp", "fabric: []"), 5, "fabric is an empty list", "at least one"),
    (_wrong("fabric: tcp", "ranks: 0"), 5, "ranks is '0'", "at least 1"),
    (_wrong("tool: micro, ", ""), 5, "lacks 'tool'", "tool, benchmark, metric"),
    (_wrong("bytes: 8", "bytes: -8"), 5, "is '-8'", "64 KiB"),
    (_wrong("bytes: 8", "bytes: 8 kB"), 5, "is '8 kB'", "64 KiB"),
    (_wrong("bytes: 8", "bytes: true"), 5, "is 'true'", "whole number"),
    (_wrong("bytes: 8", "bytes: {from: 8, to: 4}"), 5, "from 8 to 4", "smaller"),
    (_wrong("bytes: 8", "bytes: {}"), 5, "a mapping", "'from', 'to'"),
    (_wrong("10 us", "10"), 6, "at_most is '10'", "100 us"),
    (_wrong("10 us", "10 ms"), 6, "at_most is '10 ms'", "100 us"),
    (_wrong("10 us", "ten us"), 6, "at_most is 'ten us'", "a number"),
    (_wrong("10 us", "nan us"), 6, "at_most is 'nan us'", "finite"),
    (_wrong("10 us", ".inf"), 6, "at_most is '.inf'", "100 us"),
    (_wrong("at_most: 10 us", "within: [3 us]"), 6, "within is a list", "two numbers"),
    (_wrong("at_most: 10 us", "within: [3 us, 3 us]"), 6, "within 3 to 3", "lower one first"),
    (HEAD + GOOD + "    relative_to: {fabric: shm}\n", 6, "at_most is '10 us'", "a number"),
    (_wrong("10 us", ".nan\n    relative_to: {fabric: shm}"), 6, "'.nan'", "finite"),
    (_wrong("10 us", "-1\n    relative_to: {fabric: shm}"), 6, "'-1'", "above 0"),
    (_wrong("10 us", "1\n    relative_to: {fabric: tcp}"), 7, "the numerator itself", "another value"),
    (_wrong("10 us", "1\n    relative_to: {}"), 7, "relative_to is a mapping", "at least one"),
    (_wrong("10 us", "1\n    relative_to: {metric: bandwidth}"), 7, "not in us", "latency"),
    (HEAD + "  - &a {id: x}\n  - *a\n", 4, "anchors and aliases", ""),
    (HEAD + "  - !!python/object/apply:os.system [ls]\n", 3, "tag", "plain"),
    (HEAD + "  - {id: x\n", 4, "not YAML", ""),
    ("schema: 1\n---\nschema: 1\n", 2, "not YAML", ""),
    (HEAD + "  - ? [a]\n    : b\n", 3, "key is not text", "text"),
    (HEAD + "  - \x07\n", 3, "not text", ""),
    (HEAD + "  - " + "[" * 5000, 1, "nested too deeply", ""),
    (_wrong("fabric: tcp", "ranks: null"), 5, "ranks is empty", "at least 1"),
    (_wrong("fabric: tcp", "fabric: [tcp, 7]"), 5, "fabric is '7'", "text"),
    (_wrong("10 us", "1\n    relative_to:"), 7, "relative_to is empty", "a mapping"),
    (_wrong("10 us", "1\n    relative_to: {fabric: [tcp]}"), 7, "fabric is a list", "text"),
    (_wrong("10 us", "true\n    relative_to: {fabric: shm}"), 6, "at_most is 'true'", "a number"),
    (_wrong("bytes: 8", "bytes: {form: 8}"), 5, "unknown key 'form' in msg_size_bytes", "from"),
    (HEAD + GOOD + "    where: planned\n", 7, "where is 'planned'", "'measured'"),
    (HEAD + GOOD + "    lost_at_most: 2\n", 7, "lost_at_most is '2'", "from 0 to 1"),
    ("schema: true\nrequirements: []\n", 1, "schema is 'true'", "whole number"),
    (HEAD + "  - !!float x\n", 3, "a requirement is 'x'", "a mapping"),
    (HEAD + "  - {<<: {id: x}}\n", 3, "tag", "plain"),
    ("7: x\n", 1, "key is not text", "text"),
    ("schema: " + "9" * 5000 + "\nrequirements: []\n", 1, "schema is '999", "whole number"),
]


@pytest.mark.parametrize(("text", "line", "what", "expected"), WRONG)
def test_wrong_files_name_their_line(tmp_path: Path, text: str, line: int, what: str, expected: str) -> None:
    file = tmp_path / "requirements.yaml"
    file.write_text(text)
    with pytest.raises(BadInput) as caught:
        load_requirements(file)
    assert caught.value.where == f"{file}:{line}"
    assert what in caught.value.what
    assert expected in caught.value.expected


def test_files_that_are_not_text(tmp_path: Path) -> None:
    file = tmp_path / "requirements.yaml"
    file.write_bytes(b"schema: 1\n\xff\xfe\x00")
    with pytest.raises(BadInput, match=r"requirements.yaml:2: not text; expected UTF-8"):
        load_requirements(file)
    file.write_bytes(bytes(range(256)))
    with pytest.raises(BadInput, match="not text"):
        load_requirements(file)
    file.write_text("#" * (1 << 21))
    with pytest.raises(BadInput, match="too large"):
        load_requirements(file)
    with pytest.raises(BadInput, match="cannot be read: No such file"):
        load_requirements(tmp_path / "nowhere.yaml")
    with pytest.raises(BadInput, match="cannot be read"):
        load_requirements(tmp_path)


@pytest.mark.parametrize(
    ("changed", "line", "what"),
    [
        ({"fabric": "tpc"}, 5, "unknown fabric 'tpc'"),
        ({"stack": "[mpich, mipch]"}, 5, "unknown stack 'mipch'"),
        ({"tool": "mirco"}, 5, "unknown tool 'mirco'"),
        ({"benchmark": "pongping"}, 5, "unknown benchmark 'pongping'"),
    ],
)
def test_names_that_do_not_exist_here(tmp_path: Path, changed: dict[str, str], line: int, what: str) -> None:
    names = {"fabric": ["shm", "tcp"], "stack": ["mpich"], "tool": ["micro"], "benchmark": ["pingpong"]}
    result = requirements(tmp_path, entry(**changed))
    with pytest.raises(BadInput) as caught:
        check_names(result, names)
    assert (caught.value.where, caught.value.what) == (f"{result.path}:{line}", what)
    other = requirements(tmp_path, entry("a", "at_most: 1", "fabric: tpc", fabric="shm"))
    with pytest.raises(BadInput, match=r":7: unknown fabric 'tpc'; expected tcp"):
        check_names(other, names)


def test_bounds_as_references_of_reframe() -> None:
    """All bounds of one value at once: the tightest of each side, never the last one."""

    def bound(lower: float | None, upper: float | None) -> AbsoluteBound:
        return AbsoluteBound("pingpong", "latency", SizeSelection(), lower, upper, "us")

    assert as_reference(1.0, [bound(None, 0.5), bound(None, 5000.0)]) == (0.5, None, 0.0, "us")
    assert as_reference(1.0, [bound(3.0, None), bound(2.0, None)]) == (3.0, 0.0, None, "us")
    assert as_reference(1.0, [bound(1000.0, 2000.0)]) == (2000.0, -0.5, 0.0, "us")
    assert as_reference(1.0, [bound(None, 10.0), bound(8.0, None)])[1] == pytest.approx(-0.2)
    # they contradict each other: whatever the value, the one that it breaks
    assert as_reference(1.0, [bound(None, 2.0), bound(3.0, None)]) == (3.0, 0.0, None, "us")
    assert as_reference(4.0, [bound(None, 2.0), bound(3.0, None)]) == (2.0, None, 0.0, "us")
