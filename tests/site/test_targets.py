# SPDX-License-Identifier: Apache-2.0
"""What programs are built for, and whether the nodes' processors have the instructions."""

import itertools
import re
from pathlib import Path

import pytest

from fabricbench.errors import BadInput
from fabricbench.site import targets
from fabricbench.site.fabric import PROCESSORS, Fabric, Nodes, Scheduler
from fabricbench.site.targets import LEVELS, MACROS, NATIVE, Target, flags_of_nodes, lacking_on, level_of
from support.fake_site import REPOSITORY

V3 = Target(name="x86-64-v3", instructions=LEVELS["x86-64-v3"])


def fabric(processor: str | None = None, scheduler: str = "slurm") -> Fabric:
    nodes = Nodes(count=2, processor=processor)
    return Fabric(name="ib", transport="tcp", stacks=["one"], scheduler=Scheduler(name=scheduler), nodes=nodes)


def test_levels_contain_each_other() -> None:
    levels = [set(flags) for flags in LEVELS.values()]
    assert all(lower < higher for lower, higher in itertools.pairwise(levels))
    assert [level_of(flags) for flags in LEVELS.values()] == list(LEVELS)
    assert level_of({*LEVELS["x86-64-v4"], "sse2", "avx512_vnni"} - {"avx512vl"}) == "x86-64-v3"
    assert (NATIVE, *LEVELS) == PROCESSORS


def test_the_launch_wrapper_records_the_flags_of_all_macros() -> None:
    source = (REPOSITORY / "apps/launch/instructions.c").read_text()
    names = re.findall(r'"(\w+)"', source[source.index("names[]") : source.index("};")])
    assert sorted(names) == sorted(MACROS.values())
    assert set(LEVELS["x86-64-v4"]) <= set(names)


def test_a_target_names_its_level() -> None:
    assert Target(name=NATIVE, instructions=(*LEVELS["x86-64-v3"], "sse4a")).text == "native (x86-64-v3)"
    assert (V3.text, Target(name=NATIVE).text) == ("x86-64-v3", "native")
    assert V3.lacking({*LEVELS["x86-64-v3"]} - {"fma", "bmi2"}) == ("bmi2", "fma")


@pytest.mark.parametrize(
    ("processor", "scheduler", "here", "lacking"),
    [
        ("x86-64-v4", "slurm", (), ()),
        ("x86-64-v2", "slurm", LEVELS["x86-64-v4"], tuple(sorted({*LEVELS["x86-64-v3"]} - {*LEVELS["x86-64-v2"]}))),
        (None, "slurm", (), ()),
        ("native", "slurm", LEVELS["x86-64-v4"], ()),
        ("native", "slurm", {*LEVELS["x86-64-v3"]} - {"avx2"}, ("avx2",)),
        (None, "local", {*LEVELS["x86-64-v3"]} - {"avx2"}, ("avx2",)),
        (None, "local", (), ()),
    ],
)
def test_what_the_nodes_lack(
    monkeypatch: pytest.MonkeyPatch, processor: str | None, scheduler: str, here: tuple[str, ...], lacking: object
) -> None:
    """Unknown processors lack nothing: they are not checked."""
    monkeypatch.setattr(targets, "processor_flags", lambda: set(here))
    assert lacking_on(V3, fabric(processor, scheduler)) == lacking
    assert lacking_on(None, fabric(processor, scheduler)) == ()
    assert (flags_of_nodes(fabric(processor, scheduler)) is None) == (processor is None and not here)


def test_many_flags_in_words() -> None:
    assert targets.in_words(["fma", "avx2"]) == "avx2, fma"
    assert targets.in_words(LEVELS["x86-64-v4"][-6:]) == "avx512bw, avx512cd, avx512dq, avx512f and 2 others"


def test_a_processor_that_is_no_level() -> None:
    with pytest.raises(BadInput, match="fabric ib: unknown processor 'x86-64-v5'; expected x86-64-v"):
        fabric("x86-64-v5").check(Path("settings.py"), ["one"])
    fabric("x86-64-v3").check(Path("settings.py"), ["one"])
