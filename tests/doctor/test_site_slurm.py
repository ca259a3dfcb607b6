# SPDX-License-Identifier: Apache-2.0
"""The doctor reports what Slurm cannot provide for the fabrics of a site."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from doctor.synthetic_site import GOOD, Site, texts
from fabricbench.cli import app
from fabricbench.doctor.site import demand_sound
from fabricbench.errors import BadInput
from fabricbench.slurm import state as slurm_state
from support import fake_slurm


def test_without_slurm_its_checks_are_not_checked(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SLURM_CONF", raising=False)  # a virtual cluster may run beside this test
    site()
    assert texts("broken") == []
    assert texts("not checked") == [
        "the PMI of fabric gige: no srun on PATH",
        "partitions and nodes of fabric gige: no sinfo on PATH",
    ]
    result = CliRunner().invoke(app, ["doctor", "--site", "--system", "mine"])
    assert result.exit_code == 0
    assert "not checked: " in result.stdout


def test_a_missing_slurm_configuration_is_reported_at_once(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site()
    calls = fake_slurm.install(tmp_path, monkeypatch)
    monkeypatch.setenv("SLURM_CONF", str(tmp_path / "gone.conf"))
    assert texts("not checked") == [
        f"{what} of fabric gige: SLURM_CONF names {tmp_path}/gone.conf, which does not exist"
        for what in ("the PMI", "partitions and nodes")
    ]
    assert not calls.exists()


def test_an_sbatch_without_output_is_not_a_refusal(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site()
    fake_slurm.install(tmp_path, monkeypatch, sbatch="exec sleep 20")
    monkeypatch.setattr(slurm_state, "PATIENCE_SECONDS", 1)
    assert texts("broken") == []
    assert texts("not checked") == ["whether Slurm accepts the jobs of fabric gige: sbatch did not answer within 1 s"]


def test_slurm_that_does_not_answer(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site()
    fake_slurm.install(tmp_path, monkeypatch)
    for name in ("sinfo", "srun"):
        message = (
            f"{name}: error: fetch_config: DNS SRV lookup failed\n{name}: fatal: Could not establish a configuration"
        )
        (tmp_path / "bin" / name).write_text(f"#!/bin/sh\necho '{message}' >&2\nexit 1\n")
    why = "fatal: Could not establish a configuration"
    assert texts("not checked") == [
        f"the PMI of fabric gige: srun: {why}",
        f"partitions and nodes of fabric gige: sinfo: {why}",
    ]


@pytest.mark.parametrize(
    ("fabric", "message"),
    [
        ('access=["-p", "gigee"]', "fabric x: no partition 'gigee'; expected gige"),
        ('access=["-p gige,nosuch"]', "fabric x: no partition 'nosuch'; expected one of closed, gige, ib"),
        (
            'access=["-pib", "-w n[3-4]"]',
            "fabric x: its node list is down: n3 is down* (link flaps, see ticket 12), n4 is drained (memtest); "
            "scontrol show node n3",
        ),
        (
            'access=["--partition", "ib"]',
            "fabric x: 0 of 2 nodes up, 2 requested: n3 is down* (link flaps, see ticket 12), "
            "n4 is drained (memtest); scontrol show node n3",
        ),
        ("count=3", "fabric x: 2 of 2 nodes up, 3 requested"),
        ('access=["-x n1"]', "fabric x: 1 of 1 nodes up, 2 requested"),
        ('access=["-w", "n1,n9"]', "fabric x: no node 'n9' in its partition; expected n2, n1"),
        ("""access=["-p 'gige"]""", "fabric x: access: No closing quotation"),
        ('access=["-p"]', "fabric x: access: argument -p/--partition: expected one argument"),
        (
            'pmi={"one": "pmi1"}',
            "fabric x: srun does not offer pmi1, the PMI of one; expected pmix, pmi2, pmix_v4; "
            "pmi={'one': …} of the fabric selects it",
        ),
        ('scheduler="slrum"', "fabric x: unknown scheduler 'slrum'; expected slurm"),
        (
            'scheduler="pbs"',
            "fabric x: the launcher srun is Slurm's, the scheduler is pbs; expected mpirun",
        ),
        (
            'modules=["ucx"]',
            "fabric x names modules, but the System has no modules_system; "
            "expected modules_system='lmod', 'tmod4' or 'envmod' of the System",
        ),
    ],
)
def test_what_slurm_cannot_provide_for_a_fabric(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fabric: str, message: str
) -> None:
    site(f'{GOOD}\nslurm("x", {fabric}),')
    fake_slurm.install(tmp_path, monkeypatch)
    assert texts("broken") == [message]
    assert texts("broken", ("one@gige",)) == []
    with pytest.raises(BadInput, match=r"fabric x[: ]"):
        demand_sound("mine")


def test_a_partition_that_is_closed(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site('slurm("gige", count=1, access=["-p closed"]),')
    fake_slurm.install(tmp_path, monkeypatch)
    what = "fabric gige: the partition closed is down; it must be up for jobs to start: scontrol show partition"
    assert texts("broken") == [what]


def test_nodes_that_are_down_where_enough_are_up(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site()
    fake_slurm.install(tmp_path, monkeypatch, nodes=fake_slurm.NODES + "n5|gige|unknown*|none\n")
    assert texts("broken") == []
    assert texts("warning") == ["fabric gige: 1 of 3 nodes are down: n5 is unknown*"]


def test_a_refusal_of_the_trial_submission_is_reported(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site('slurm("gige", access=["-p gige", "-C \'a&b\'"]),')
    refusal = "echo 'allocation failure: Invalid feature specification' >&2; exit 1"
    calls = fake_slurm.install(tmp_path, monkeypatch, sbatch=refusal)
    what = "fabric gige: Slurm would refuse its jobs: allocation failure: Invalid feature specification"
    assert texts("broken") == [what]
    assert "--test-only -p gige -C a&b --nodes=2" in calls.read_text()


def test_no_default_partition(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site('slurm("gige"),')
    fake_slurm.install(tmp_path, monkeypatch, partitions="gige|up\n", nodes="n1|gige|idle|none\n")
    what = "fabric gige: no partition, and Slurm has no default one; name one in access: --partition=gige"
    assert what in texts("broken")


@pytest.mark.parametrize(
    "formats",
    [
        fake_slurm.PMI,
        # As Slurm up to 20.11 printed it, on the standard error
        "srun: MPI types are...\nsrun: pmix_v3\nsrun: pmix\nsrun: pmi2\nsrun: none\n",
        "MPI plugin types are...\n\tnone\n\tpmi2\n\tpmix\nspecific pmix plugin versions available: pmix_v4,pmix_v5\n",
    ],
)
def test_the_formats_of_srun(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, formats: str) -> None:
    site('slurm("gige", pmi={"two": "cray_shast"}),')
    fake_slurm.install(tmp_path, monkeypatch, pmi=formats)
    srun = tmp_path / "bin/srun"
    if formats.startswith("srun:"):
        srun.write_text(srun.read_text().replace("cat ", "cat >&2 "))
    (message,) = texts("broken")
    assert message.startswith("fabric gige: srun does not offer cray_shast, the PMI of two; expected ")
    assert "..." not in message
    assert "specific" not in message
