# SPDX-License-Identifier: Apache-2.0
"""The page is well-formed, escaped, self-contained, complete and reproducible."""

import re
from dataclasses import replace
from functools import cache
from urllib.parse import quote

import pytest

from fabricbench.launch.host import Host, Nic
from fabricbench.launch.provenance import Provenance
from fabricbench.launch.record import Campaign, Record
from fabricbench.launch.table import table
from fabricbench.report.lane_curves import lane_curves_svg
from fabricbench.report.page import report
from fabricbench.verdict.result import Judgement
from report.html_page import Page
from report.judged import cell, judgement
from report.synthetic import SKIPS, STACKS, TAIL, Shape, campaign, skip

HOSTILE = "</script><script>alert('x')</script><b>&amp; \"$\\alpha$\" é漢\x1b[31m\x00"
SMALL = Shape(lanes=(("impi", "shm", ""), ("mpich", "shm", ""), ("mpich", "tcp", "")), collectives=("bcast",))

SHAPES = {
    "usual": SMALL,
    "one block": replace(SMALL, blocks=1),
    "all refuted": replace(SMALL, refuted=True, blocks=2),
    "one tool": replace(SMALL, tools=("imb",), blocks=2),
    "the project's own tool alone": replace(SMALL, tools=("micro",), blocks=2),
    "one lane": replace(SMALL, lanes=SMALL.lanes[:1]),
    "variants": replace(SMALL, lanes=tuple(("mpich", "tcp", v) for v in ("", "rails", "<two> rails"))),
    "many fabrics": replace(SMALL, lanes=tuple(("mpich", f"net {i}", "") for i in range(9)), blocks=1),
}  # fmt: skip


@cache
def built(name: str) -> tuple[Campaign, str]:
    """A campaign of this shape and its page."""
    example = campaign(SHAPES[name])
    return example, report(example, table(example.records), judgement(example))


@pytest.mark.parametrize("name", SHAPES)
def test_page_is_well_formed_and_accessible(name: str) -> None:
    _, html = built(name)
    page = Page(html)
    assert html.startswith("<!doctype html>")
    assert page.all("html") == [{"lang": "en"}]
    assert len(page.ids) == len(set(page.ids)), "ids are unique"
    assert page.headings[0] == 1
    assert page.headings.count(1) == 1
    assert all(b - a <= 1 for a, b in zip(page.headings, page.headings[1:], strict=False)), "no level skipped"
    for picture in page.all("svg"):
        labels = picture.get("aria-labelledby", "").split()
        assert picture.get("aria-hidden") == "true" or (labels and set(labels) <= set(page.ids))
    for link in page.all("a") + page.all("use"):
        if (target := link["href"]).startswith("#"):
            assert target[1:] in page.ids, target
    assert not re.search(r"\b(NaN|nan|inf)\b|>None<", html)
    assert "nan" not in " ".join(a.get("d", "") + a.get("transform", "") for a in page.all("path")).lower()


@pytest.mark.parametrize("name", SHAPES)
def test_every_launch_has_an_anchor(name: str) -> None:
    example, html = built(name)
    page = Page(html)
    rows = [a for a in page.all("tr") if a.get("id", "").startswith("launch-")]
    hrefs = {a["href"] for a in page.all("a")}
    assert len(rows) == len(example.records)
    assert {f"./launches/{quote(record.directory)}" for record in example.records} <= hrefs


@pytest.mark.parametrize("name", SHAPES)
def test_page_loads_no_other_file(name: str) -> None:
    _, html = built(name)
    page = Page(html)
    assert not re.search(r"https?://", html)
    assert not [a for tag in ("link", "img", "iframe", "object") for a in page.all(tag)]
    assert not [a for _, a in page.elements if "src" in a]
    assert "@import" not in html
    assert not re.search(r"url\((?!#)", html)
    (script,) = re.findall(r"<script>(.*?)</script>", html, re.DOTALL)
    assert len(script.encode()) < 10_000


def test_empty_campaign() -> None:
    example = campaign(Shape(blocks=0), skips=())
    page = Page(report(example, table(example.records), None))
    for text in ("No requirement was judged", "no lane is attested", "nothing to draw", "Nothing was skipped"):
        assert text in page.text


def test_same_input_same_bytes() -> None:
    example, html = built("usual")
    again = campaign(SMALL)
    assert report(again, table(again.records), judgement(again)) == html
    assert lane_curves_svg(table(example.records)) == lane_curves_svg(table(again.records))


def test_full_scale_stays_under_3_megabytes() -> None:
    example = campaign(Shape(repeats=2))
    assert len(example.records) == 6 * 34 * 6
    html = report(example, table(example.records), judgement(example))
    assert len(html.encode()) < 3_000_000


def test_verdicts_come_first_in_one_sentence() -> None:
    example = campaign(Shape(blocks=6, collectives=(), faults=False))
    judged = judgement(example)
    page = Page(report(example, table(example.records), judged))
    assert "Of 128 cells judged over 6 blocks, 102 PASS, 6 FAIL, 14 INCONCLUSIVE and 6 INVALID" in page.text
    assert "5 of 6 lanes are attested in every launch (impi@tcp: refuted in some)" in page.text
    assert page.text.index("FAIL: mpich@tcp on latency at 128") < page.text.index("INVALID: impi@tcp")
    for one in judged.cells:
        assert one.text in page.text
        assert one.reason in page.text
    assert page.text.count("[0.4900, 0.5100]") >= 6
    cells = [name for name in page.ids if name.startswith("cell-")]
    assert len(cells) == len(judged.cells)


def test_reasons_against_the_attestation_of_a_lane() -> None:
    example, html = built("all refuted")
    text = Page(html).text
    assert "Shared memory is attested by exclusion:" in text
    assert "0 of 3 lanes are attested" in text
    reasons = {r.attestation.reason for r in example.records if r.attestation is not None}
    assert reasons
    assert all(reason in text for reason in reasons)


def test_only_the_skip_link_is_hidden() -> None:
    page = Page(built("usual")[1])
    assert [tag for tag, attributes in page.elements if "skip" in attributes.get("class", "").split()] == ["a"]
    assert [a["class"] for tag, a in page.elements if tag == "article"]


def test_skips_and_failures_are_listed() -> None:
    example = campaign(Shape())
    text = Page(report(example, table(example.records), None)).text
    for one in SKIPS:
        assert one.reason in text
        assert one.hint in text
        assert one.lane in text
    assert "mvapich2@shm, mvapich2@tcp · osu latency · 2 in all" in text
    failed = [r for r in example.records if r.state == "failed"]
    assert failed
    assert TAIL in text
    assert "no end: killed" in text


def hostile() -> tuple[Campaign, Judgement]:
    """A campaign in which every text from outside contains markup."""
    STACKS[HOSTILE] = 1.0
    lane = (HOSTILE, HOSTILE, "_" + HOSTILE)
    example = campaign(
        Shape(
            lanes=(lane, ("mpich", HOSTILE, "")), collectives=(HOSTILE,), name=HOSTILE,
            versions={HOSTILE: HOSTILE},
        ),
        skips=(skip(lane, HOSTILE, HOSTILE, HOSTILE),),
    )  # fmt: skip
    records = [
        record.model_copy(update={"state": "failed", "reason": HOSTILE, "hosts": (HOSTILE,)}) if at % 7 == 0 else record
        for at, record in enumerate(example.records)
    ]
    records.append(
        Record(directory=f"javascript:{HOSTILE}", launch=None, state="unreadable", reason=HOSTILE + "\udcff")
    )
    cells = (cell(HOSTILE, HOSTILE, 8, "FAIL", 1.0, HOSTILE, (HOSTILE,), HOSTILE, HOSTILE),)
    judged = Judgement(cells=cells, looks=(6,), blocks=6, alpha=0.05, exit_status=1)
    return example.model_copy(update={"records": tuple(records)}), judged


def test_hostile_strings_are_shown_as_text() -> None:
    example, judged = hostile()
    host = Host(host=HOSTILE, kernel=HOSTILE, nics=(Nic(name=HOSTILE, kind="roce"),), topology_address=HOSTILE + ".n")
    origin = Provenance(example, {HOSTILE: (host,)}, {f"mpich@{HOSTILE}": {HOSTILE: HOSTILE}})
    other = Provenance(example, {HOSTILE: (Host(host=HOSTILE, kernel="other"),)}, {f"mpich@{HOSTILE}": {"a": HOSTILE}})
    html = report(example, table(example.records), judged, provenance=origin, reference=other, base="../x")
    page = Page(html)
    assert len(page.all("script")) == 1
    assert len(page.all("b")) == 2, "no element but the page's own"
    assert "alert('x')</script>" in page.text
    assert html.encode("utf-8")
    assert "\x1b" not in html
    assert "\x00" not in html
    assert "$\\alpha$" in page.text
    schemes = [a["href"] for a in page.all("a") if re.match(r"[a-z]+:", a["href"], re.IGNORECASE)]
    assert schemes == []
    assert len(page.ids) == len(set(page.ids))
    assert lane_curves_svg(table(example.records))


def test_settings_of_the_user_change_nothing() -> None:
    import matplotlib

    example, html = built("usual")
    with matplotlib.rc_context({"lines.linewidth": 9, "font.size": 30, "svg.fonttype": "path"}):
        assert report(example, table(example.records), judgement(example)) == html
        assert matplotlib.rcParams["font.size"] == 30


def test_notes_of_verdicts() -> None:
    example = campaign(SMALL)
    first = judgement(example)
    cells = (replace(first.cells[0], loaded=3, repeated=("b000/x", "b001/x"), skipped=4), *first.cells[1:])
    html = report(example, table(example.records), replace(first, cells=cells))
    for note in (
        f"3 of {len(cells[0].launches)} launches with foreign load above 10 %",
        "2 lost launches repeated",
        "4 cells not measured and skipped",
    ):
        assert note in html


def test_a_lost_launch_is_listed_with_the_state_of_its_repeat() -> None:
    example = campaign(replace(SMALL, faults=False, blocks=1))
    first = example.records[0]
    assert first.launch is not None
    twice = example.records[1]
    losses = [
        first.model_copy(update={"state": "lost", "reason": "hung at its end", "directory": "b000/lost", "rows": ()}),
        twice.model_copy(update={"state": "lost", "reason": "hung as well", "rows": ()}),
    ]
    records = (*losses, first, *example.records[2:])
    html = report(example.model_copy(update={"records": records}), table(records), None)
    assert "hung at its end; repeated<" in html
    assert "hung as well; not repeated<" in html
