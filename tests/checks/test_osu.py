# SPDX-License-Identifier: Apache-2.0
"""The OSU checks on stacks that are shell scripts: the programs, the options of each version, the skips."""

import re
from pathlib import Path

import pytest

from fabricbench.campaign.read import read_campaign
from fabricbench.launch.record import Campaign, Record
from fabricbench.parsers.osu_programs import PROGRAMS
from fabricbench.parsers.osu_table import TITLES, headings, version_of
from support import fake_site
from support.fake_site import FakeSite

FAMILIES = {program.family for program in PROGRAMS.values()}

# The file contains the title, as a program does, the requested sizes and the known options.
PROGRAM = """\
#!/bin/sh
# OSU MPI%s Fake Test v{version}
[ "$PMI_RANK" = 0 ] || exit 0
full= check= sizes=1:1
while [ $# -gt 0 ]; do
    case $1 in
    -m) sizes=$2; shift ;;
    -i) count=$2; shift ;;
    -x) shift ;;
    -T) [ {version} = 7.4 ] || exit 1; shift ;;
    -f) full=yes ;;
    -c) [ {version} = 7.4 ] || exit 1; check={verdict} ;;
    *) exit 1 ;;
    esac
    shift
done
echo "# {title} v{version}"
head="# Size       {column}"
[ -z "$full" ] || head="# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations"
echo "$head${{check:+        Validation}}"
size=${{sizes%:*}}
while [ "$size" -le "${{sizes#*:}}" ]; do
    echo "$size  2.00 ${{full:+1.00 3.00 $count}} $check"
    size=$((2 * size))
done
"""


@pytest.fixture
def site(tmp_path: Path) -> FakeSite:
    return fake_site.make(tmp_path)


def install(folder: Path, version: str, *programs: str, verdict: str = "Pass") -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name in programs:
        version_numbers = version_of(version) if version[0].isdigit() else (7, 4)
        column = headings(name, version_numbers, sized=False, full=False, validated=False)[0]
        facts = {"version": version, "verdict": verdict, "title": TITLES.get(name, "none"), "column": column}
        (folder / name).write_text(PROGRAM.format(**facts))
        (folder / name).chmod(0o755)


def run(site: FakeSite, which: str = "", *options: str) -> tuple[int, Campaign]:
    """Runs OSU checks on the stack ``one`` with the programs in ``osu/``; returns exit status and campaign."""
    environment = {"FABRICBENCH_OSU": str(site.root / "osu")} if (site.root / "osu").exists() else {}
    environ = {"FABRICBENCH_CAMPAIGN": str(site.root / "campaign"), **environment}
    result = site.reframe("-c", "reframe_checks", "-n", f"^Osu.*({which})", "-p", "^one$", *options, "-r", **environ)
    assert result.returncode in (0, 1), result.stdout + result.stderr
    return result.returncode, read_campaign(site.root / "campaign")


def skips(campaign: Campaign) -> dict[str, str]:
    return {skip.benchmark: skip.reason for skip in campaign.skips}


def records(campaign: Campaign) -> list[Record]:
    return [record for record in campaign.records if record.launch and record.launch.tool == "osu"]


def test_without_osu_each_lane_has_one_skip_per_family(site: FakeSite) -> None:
    status, campaign = run(site)
    assert (status, records(campaign)) == (0, [])
    assert skips(campaign) == {
        family: f"the OSU micro-benchmarks ({family}) are not installed for one" for family in FAMILIES
    }
    assert len(campaign.skips) == len(FAMILIES)
    assert {skip.messages for skip in campaign.skips} == {None}
    assert all("run: fabricbench setup one --source OSU" in skip.hint for skip in campaign.skips)
    assert len(list((site.root / "campaign").rglob("skipped.json"))) > len(PROGRAMS), "every check counts as done"


def test_a_stack_that_is_not_set_up_has_one_skip_per_family(site: FakeSite) -> None:
    (site.stack("one") / "stack.json").unlink()
    campaign = run(site, "_latency|_barrier|_fan_in")[1]
    assert skips(campaign) == dict.fromkeys(FAMILIES, "the stack one is not set up on this machine")


@pytest.mark.parametrize("layout", ["libexec/osu-micro-benchmarks/mpi/pt2pt", "bin", "."])
def test_programs_in_any_folder_below(site: FakeSite, layout: str) -> None:
    install(site.root / "osu/one" / layout, "7.4", "osu_latency")
    status, campaign = run(site, r"osu_(latency|bw|bcast)\b")
    assert status == 0
    assert [record.state for record in records(campaign)] == ["ok", "ok"]
    for record in records(campaign):
        assert record.launch is not None
        assert record.launch.versions["osu"] == "7.4"
        assert record.launch.argv[-1] == "-c"
        assert {row.metric for row in record.rows} == {"latency"}
    assert skips(campaign)["unidirectional window=64"] == "OSU 7.4 for one has no osu_bw"
    assert "pt2pt" not in skips(campaign)
    assert skips(campaign)["collective"] == "the OSU micro-benchmarks (collective) are not installed for one"


def test_programs_in_the_stacks_own_prefix(site: FakeSite) -> None:
    """MVAPICH contains them."""
    install(site.stack("one") / "prefix/libexec/osu-micro-benchmarks/mpi/collective", "7.4", "osu_allreduce")
    status, campaign = run(site, "osu_allreduce")
    assert status == 0
    assert {(record.state, record.launch.messages) for record in records(campaign) if record.launch} == {
        ("ok", "small"),
        ("ok", "large"),
    }


def test_an_old_version_gets_only_its_own_options(site: FakeSite) -> None:
    """The fake program exits with 1 for further options."""
    install(site.root / "osu/one", "5.3.2", "osu_allreduce", "osu_latency")
    status, campaign = run(site, r"osu_(allreduce|latency)\b")
    assert status == 0, [record.reason for record in records(campaign)]
    assert {record.launch.benchmark for record in records(campaign) if record.launch} == {"allreduce"}
    assert skips(campaign)["pt2pt"] == (
        "OSU 5.3.2 (pt2pt) has no option for sizes: small and large messages would share a launch"
    )


def test_a_program_without_a_version(site: FakeSite) -> None:
    install(site.root / "osu/one", "of today", "osu_latency")
    campaign = run(site, "osu_latency")[1]
    assert skips(campaign)["pt2pt"] == "the OSU micro-benchmarks (pt2pt) for one contain no version"


def test_data_that_fail_validation_yield_no_value(site: FakeSite) -> None:
    install(site.root / "osu/one", "7.4", "osu_latency", verdict="Fail")
    status, campaign = run(site, "osu_latency")
    assert status == 1
    for record in records(campaign):
        assert (record.state, record.rows) == ("unreadable", ())
        assert "data that pass the validation, not 'Fail'" in record.reason


def test_an_unknown_synchronisation_is_skipped(site: FakeSite) -> None:
    install(site.root / "osu/one", "7.4", "osu_put_latency")
    campaign = run(site, "osu_put_latency", "-S", "OsuOneSided.sync=flush_local")[1]
    assert skips(campaign)["put sync=flush_local win=create"] == "unknown sync 'flush_local'"


@pytest.mark.parametrize(("sync", "validated"), [("flush", False), ("lock", False), ("pscw", True), ("fence", True)])
def test_a_passive_target_does_not_validate(site: FakeSite, sync: str, validated: bool) -> None:
    """The fake program refuses the options of a window, so every launch fails; its arguments are recorded."""
    install(site.root / "osu/one", "7.4", "osu_fop_latency")
    launches = [record.launch for record in records(run(site, "osu_fop", "-S", f"OsuAtomic.sync={sync}")[1])]
    assert [launch.argv[-4:] for launch in launches if launch] == [("-w", "create", "-s", sync)]
    assert ["-c" in launch.argv for launch in launches if launch] == [validated]


def test_several_rank_pairs_are_part_of_the_case(site: FakeSite) -> None:
    install(site.root / "osu/one", "7.4", "osu_multi_lat")
    campaign = run(site, "osu_multi_lat", "-S", "OsuPairs.pairs=2")[1]
    assert {(record.launch.ranks, record.launch.case["pairs"]) for record in records(campaign) if record.launch} == {
        (4, 2)
    }
    assert {row.case for record in records(campaign) for row in record.rows} == {"pairs=2"}


def test_osu_is_not_in_the_quick_tier(site: FakeSite) -> None:
    def count_of(tier: str) -> int:
        result = site.reframe("-c", "reframe_checks", "-n", "^Osu", "-t", f"^{tier}$", "-L")
        return len(re.findall(r"^- Osu", result.stdout, flags=re.MULTILINE))

    unsized = sum(not program.sized for program in PROGRAMS.values())
    assert count_of("quick") == 0
    assert count_of("standard") == count_of("acceptance") == 2 * len(PROGRAMS) - unsized
