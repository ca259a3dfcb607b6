# SPDX-License-Identifier: Apache-2.0
"""The section of profiles: known times and states of synthetic launches, in a well-formed page."""

import re
from functools import cache

import pytest

from fabricbench.launch.record import Campaign, CampaignFacts, Record
from fabricbench.launch.table import table
from fabricbench.parsers.tau.rows import RankShares
from fabricbench.report.links import Launches
from fabricbench.report.page import report
from fabricbench.report.profile_figures import MOST_RANKS, Bar, colours, short
from fabricbench.report.profiles import ProfileView, profile_views
from fabricbench.verdict.profiles import profiles
from report.html_page import Page
from verdict.synthetic_profiles import Profiled, sockets, timers

LANES = tuple(f"{stack}@{fabric}" for fabric in ("shm", "tcp") for stack in ("impi", "mpich", "openmpi"))
MANY = {
    **{f"MPI_{name}": (0.04, 10 << at, 320 << 3 * at) for at, name in enumerate(("Isend", "Irecv", "Wait", "Bcast"))},
    **{f"MPI_{name}": (0.02 / (at + 1), 4, 64) for at, name in enumerate(("Scan", "Reduce", "Gather", "Alltoallv"))},
    "collective_sync": (0.1, 40, 0),
}
RUNS = (
    *(Profiled(lane, agreements={0: (timers(0.75), sockets(1e5))}) for lane in LANES[:3]),
    Profiled(LANES[3], profiled=(1.5,) * 6, states={2: "refuted"}),
    Profiled(LANES[4], timed=(), calls=MANY, versions={"tau": "2.34.1"}),
    Profiled(LANES[5], agreements={1: (timers(0.9),), 2: (timers(0.75),)}),
    *(Profiled(lane, benchmark="ft.A", ranks=16, timed=(1.0, 1.0), profiled=(0.99, 1.0)) for lane in LANES),
)


def ranks_of(directory: str) -> RankShares:
    """Shares that rise with the rank; 16 ranks of FT."""
    count = 16 if "ft.A" in directory else 2
    shares = [0.2 + 0.6 * rank / count for rank in range(count)]
    calls = {"MPI_Sendrecv": tuple(2 * s / 3 for s in shares), "MPI_Allreduce": tuple(s / 3 for s in shares)}
    return RankShares(tuple(shares), calls)


def campaign_of(*runs: Profiled) -> Campaign:
    facts = CampaignFacts(system="local", tier="standard", looks=(6,), seed=1, created=1758103200.0)
    records: tuple[Record, ...] = tuple(record for run in runs for record in run.records)
    return Campaign(name="profiles", facts=facts, records=records, skips=())


def views_of(*runs: Profiled) -> list[ProfileView]:
    campaign = campaign_of(*runs)
    found = profiles(table(campaign.records), campaign.records)
    return profile_views(found, Launches(campaign), ranks_of)


@cache
def page() -> str:
    campaign = campaign_of(*RUNS)
    return report(campaign, table(campaign.records), None, ranks_of=ranks_of)


def test_the_section_is_well_formed_and_accessible() -> None:
    html = page()
    parsed = Page(html)
    assert {"profiles", "profile-cg.a-2-ranks-on-1-node", "profile-ft.a-16-ranks-on-1-node"} <= set(parsed.ids)
    assert len(parsed.ids) == len(set(parsed.ids))
    assert all(b - a <= 1 for a, b in zip(parsed.headings, parsed.headings[1:], strict=False))
    for picture in parsed.all("svg"):
        labels = picture.get("aria-labelledby", "").split()
        assert picture.get("aria-hidden") == "true" or (labels and set(labels) <= set(parsed.ids))
    assert {"href": "#profiles"} in parsed.all("a")
    assert not re.search(r"\b(NaN|nan|inf)\b|>None<|https?://", html)


def test_the_same_campaign_gives_the_same_bytes() -> None:
    campaign = campaign_of(*RUNS)
    assert report(campaign, table(campaign.records), None, ranks_of=ranks_of) == page()


def test_a_campaign_without_profiles_has_no_section() -> None:
    campaign = campaign_of(Profiled(profiled=()))
    assert 'id="profiles"' not in report(campaign, table(campaign.records), None)


def test_each_lane_has_its_state_and_reason() -> None:
    cg, ft = views_of(*RUNS)
    assert {row.lane: (row.state, row.tag) for row in cg.rows} == {
        "impi@shm": ("usable", "pass"),
        "mpich@shm": ("usable", "pass"),
        "openmpi@shm": ("usable", "pass"),
        "impi@tcp": ("not used", "inconclusive"),
        "mpich@tcp": ("unpaired", "inconclusive"),
        "openmpi@tcp": ("disputed", "fail"),
    }
    reasons = {row.lane: row.notes for row in cg.rows}
    assert reasons["impi@shm"] == ()
    assert reasons["impi@tcp"][0].startswith("dilation above 10 %: the run time is 1.5 times as long")
    assert reasons["mpich@tcp"] == ("no timed launch of the same blocks",)
    assert "0.9 s, expected 0.73 to 0.77 s" in reasons["openmpi@tcp"][0]
    assert {row.notes for row in ft.rows} == {("2 blocks are too few for a 95 % interval of the dilation",)}


def test_numbers_of_a_lane() -> None:
    (view,) = views_of(Profiled())
    (row,) = view.rows
    assert (row.share.estimate, row.share.interval) == ("75.0\u202f%", "75.0\u202f% to 75.0\u202f%")
    assert row.ranks == "65.0\u202f% to 85.0\u202f%"
    assert (row.dilation.estimate, row.dilation.interval, row.dilation.n) == ("1.02", "[1.02, 1.02]", 6)
    sendrecv = row.calls[0]
    assert (sendrecv.calls, sendrecv.seconds, sendrecv.seconds_max) == ("3\u202f000", "510\u202fms", "612\u202fms")
    assert (sendrecv.share, sendrecv.bytes, sendrecv.message) == ("50.0\u202f%", "93.8\u202fKiB", "32.0\u202fB")


def test_too_few_blocks_have_no_interval() -> None:
    (view,) = views_of(Profiled(timed=(1.0,) * 5, profiled=(1.0,) * 5))
    assert (view.rows[0].dilation.estimate, view.rows[0].dilation.interval) == ("1.00", "")


def test_witnesses_show_the_worst_launch_with_its_limits() -> None:
    (view,) = views_of(RUNS[5])
    (witness,) = view.witnesses
    assert (witness.profile, witness.other) == ("750.0\u202fms", "900.0\u202fms")
    assert witness.limits == "730.0\u202fms to 770.0\u202fms"
    assert (witness.launches, witness.agrees, witness.link.label) == ("1 of 2", False, "1.0")
    assert "disputed" in page()


def test_the_barrier_of_tau_is_explained_where_its_numbers_stand() -> None:
    cg, ft = views_of(*RUNS)
    assert (cg.barriers, ft.barriers) == ("mpich@tcp", "")
    assert [row.profiler for row in cg.rows if row.lane == "mpich@tcp"] == ["TAU 2.34.1"]
    assert "barrier before collectives" in cg.time
    assert "mpich@tcp: the profiler puts a barrier in front of" in Page(page()).text


def test_lanes_with_equal_message_sizes_share_a_figure() -> None:
    (cg, ft) = views_of(*RUNS)
    assert [sizes.caption for sizes in ft.sizes] == ["all lanes"]
    assert len(cg.sizes) == 2
    assert "3\u202f000 of 32\u202fB" in ft.sizes[0].svg


def test_launches_that_do_not_count_are_named() -> None:
    (view,) = views_of(RUNS[3])
    ((link, reason),) = view.rows[0].others
    assert (link.label, reason) == ("2.0", "refuted; only 3 % on TCP")


def test_a_profile_without_a_launch_that_counts_is_named() -> None:
    campaign = campaign_of(Profiled(timed=(1.0,), profiled=(1.0,), states={0: "refuted"}))
    html = report(campaign, table(campaign.records), None, ranks_of=ranks_of)
    text = Page(html).text
    assert "no launch" in text
    assert "refuted; only 3 % on TCP" in text
    assert "Time by MPI function" not in text


def test_a_lane_with_two_profilers_has_a_row_for_each() -> None:
    (view,) = views_of(Profiled(), Profiled(timed=(), versions={"tau": "2.34.1"}))
    assert [row.lane for row in view.rows] == ["mpich@tcp, TAU 2.34.1", "mpich@tcp, own"]


@pytest.mark.parametrize("count", [1, MOST_RANKS, MOST_RANKS + 1])
def test_strips_of_any_number_of_ranks(count: int) -> None:
    shares = RankShares((0.5,) * count, {"MPI_Send": (0.5,) * count})
    campaign = campaign_of(Profiled())
    (view,) = profile_views(profiles(table(campaign.records), campaign.records), Launches(campaign), lambda _: shares)
    assert ("% of the ranks" in view.ranks) == (count > MOST_RANKS)
    assert len(view.ranks) < 40_000


def test_without_the_profiles_the_strips_are_omitted() -> None:
    campaign = campaign_of(Profiled())
    summaries = profiles(table(campaign.records), campaign.records)
    (view,) = profile_views(summaries, Launches(campaign), lambda _: None)
    assert (view.ranks, bool(view.time)) == ("", True)


def test_names_are_escaped() -> None:
    campaign = campaign_of(Profiled(lane="<b>&@tcp", benchmark="<i>", versions={"tau": "<s>"}))
    html = report(campaign, table(campaign.records), None, ranks_of=ranks_of)
    assert not re.search(r"<b>&@|<i>|<s>", html)
    Page(html)


def test_only_the_largest_functions_have_a_colour_of_their_own() -> None:
    bar = Bar("mpich@tcp", 1.0, {call: share for call, (share, _, _) in MANY.items()} | {"MPI_Test": 0.0})
    palette = colours([bar])
    assert next(iter(palette)) == "collective_sync"
    assert (len(palette), list(palette)[-1]) == (7, "other MPI functions")
    assert len(set(palette.values())) == 7
    assert list(colours([Bar("x", 1.0, {"MPI_Send": 0.5})])) == ["MPI_Send"]


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0"), (950, "950"), (999.6, "1.0k"), (3280, "3.3k"), (9960, "10k"), (4.1e6, "4.1M"), (2e9, "2.0G")],
)
def test_counts_have_at_most_four_characters(count: float, text: str) -> None:
    assert short(count) == text


def test_a_lane_that_is_only_profiled_is_not_compared() -> None:
    campaign = campaign_of(Profiled("mpich@tcp", timed=()), Profiled("openmpi@tcp"), Profiled("impi@tcp"))
    Page(report(campaign, table(campaign.records), None))
