# SPDX-License-Identifier: Apache-2.0
"""``fabricbench site new`` writes a site that the doctor accepts at once, for the machines in tests/data/machines."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from discovery.machines import CLUSTER, MACHINES, install_slurm
from fabricbench.site.fabric import Fabric
from fabricbench.site.requirements_file import load_requirements
from fabricbench.site.settings import load_settings, load_system
from fabricbench.site.system import System
from support.command import inside
from support.fake_site import REPOSITORY

Done = subprocess.CompletedProcess[str]


@pytest.fixture(autouse=True)
def sites(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of sites with the stacks of this repository, none of which is set up."""
    root = tmp_path / "site"
    root.mkdir()
    shutil.copy(REPOSITORY / "site/stacks.py", root)
    monkeypatch.setenv("FABRICBENCH_SITES", str(root))
    monkeypatch.setenv("FABRICBENCH_BUILD", str(tmp_path / "build"))
    monkeypatch.delenv("MODULEPATH", raising=False)
    return root


def new(*arguments: str) -> Done:
    return inside("site", "new", *arguments)


def fabrics(name: str = "ours") -> dict[str, Fabric]:
    return {fabric.name: fabric for fabric in load_system(name).fabrics}


def written(sites: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, node: str, *arguments: str) -> System:
    """Writes the site ``ours`` for a machine; the doctor finds nothing broken."""
    install_slurm(tmp_path, monkeypatch, node=node)
    result = new("ours", *arguments)
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stderr == ""
    return load_system("ours")


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        (
            "infiniband",
            {
                "ib": ("verbs", ("mlx5_0:1", "mlx5_1:1"), ("mpich", "openmpi")),
                "eth": ("tcp", ("eno1",), ("impi", "mpich", "openmpi")),
                "ipoib": ("tcp", ("ib0",), ("impi", "mpich", "openmpi")),
            },
        ),
        (
            "roce",
            {
                "roce": ("verbs", ("mlx5_0:1",), ("mpich", "openmpi")),
                "eth": ("tcp", ("ens1f0np0",), ("impi", "mpich", "openmpi")),
            },
        ),
        (
            "omnipath",
            {
                "opa": ("psm", ("hfi1_0:1",), ("mpich-ofi",)),
                "eth": ("tcp", ("eth0",), ("impi", "mpich", "openmpi")),
                "ipoib": ("tcp", ("ib0",), ("impi", "mpich", "openmpi")),
            },
        ),
        (
            "slingshot",
            {
                "slingshot": ("cxi", ("cxi0", "cxi1"), ("mpich-ofi",)),
                "eth": ("tcp", ("hsn0", "hsn1"), ("impi", "mpich", "openmpi")),
            },
        ),
        (
            "iwarp",
            {
                "iwarp": ("verbs", ("ens2f0",), ("openmpi",)),
                "eth": ("tcp", ("ens2f0",), ("impi", "mpich", "openmpi")),
            },
        ),
        (
            "software",
            {
                "roce": ("verbs", ("rxe0:1",), ("mpich", "openmpi")),
                "iwarp": ("verbs", ("eth2",), ("openmpi",)),
                "eth": ("tcp", ("eth0", "eth1", "eth2"), ("impi", "mpich", "openmpi")),
            },
        ),
        ("unknown", {"eth": ("tcp", ("ens5",), ("impi", "mpich", "openmpi"))}),
        ("ethernet", {"eth": ("tcp", ("bond0",), ("impi", "mpich", "openmpi"))}),
    ],
)
def test_the_fabrics_of_a_node(
    sites: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, node: str, expected: dict[str, tuple[object, ...]]
) -> None:
    written(sites, tmp_path, monkeypatch, node)
    mpi = ("impi", "mpich", "openmpi", "mpich-ofi", "mvapich2")
    assert {
        name: (one.transport, tuple(one.ports), tuple(stack for stack in one.stacks if stack in mpi))
        for name, one in fabrics().items()
    } == expected


def test_the_cluster_of_the_site(sites: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    system = written(sites, tmp_path, monkeypatch, "infiniband")
    for fabric in system.fabrics:
        scheduler, nodes = fabric.scheduler, fabric.nodes
        assert (scheduler.name, scheduler.launcher, scheduler.access) == ("squeue", "srun", ("--partition=compute",))
        assert (scheduler.minutes, scheduler.exclusive, dict(scheduler.pmi)) == (120, True, {})
        # Two sockets of 32 cores with two threads each; Slurm manages 250,000 MiB of the 263,766,340 KiB.
        assert (nodes.count, nodes.cores, nodes.memory_bytes) == (2, 64, 250000 * 2**20)
    text = (sites / "ours/settings.py").read_text()
    for note in (
        "The partition compute has 62 of 64 nodes up; launches use 2.",
        "cores are physical ones; each has 2 hardware threads.",
        "The port mlx5_10:1 is not active.",
        "Other partitions: gpu (4 of 4 nodes up)",
        "Not named, because Spack has not built it here: mvapich2",
    ):
        assert note in text
    assert load_requirements(sites / "ours/requirements.yaml").items


def test_settings_name_the_adapters(sites: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "build/views/mvapich2").mkdir(parents=True)
    written(sites, tmp_path, monkeypatch, "software")
    roce, iwarp = fabrics()["roce"], fabrics()["iwarp"]
    assert dict(roce.variables) == {"UCX_NET_DEVICES": "rxe0:1", "UCX_IB_GID_INDEX": "0"}
    assert roce.stack_variables["mvapich2"]["MV2_DEFAULT_GID_INDEX"] == "0"
    assert iwarp.stack_variables["openmpi"]["FI_VERBS_DEVICE_NAME"] == "siw0"
    assert iwarp.stack_variables["mvapich2"]["MV2_USE_IWARP_MODE"] == "1"
    text = (sites / "ours/settings.py").read_text()
    assert "The adapter has no counters: ports names the network interface" in text
    assert "$mvapich2" in (sites / "ours/spack/stacks.yaml").read_text()


def test_an_adapter_without_readable_counters_has_optional_attestation(
    sites: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (MACHINES / "slingshot.node").read_text()
    monkeypatch.setattr("discovery.machines.MACHINES", tmp_path)
    lines = [line for line in text.splitlines() if "telemetry" not in line]
    (tmp_path / "other.node").write_text("".join(f"{line}\n" for line in lines))
    written(sites, tmp_path, monkeypatch, "other")
    assert fabrics()["slingshot"].attestation == "optional"


def test_another_partition_and_number_of_nodes(sites: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    system = written(sites, tmp_path, monkeypatch, "ethernet", "--partition", "gpu", "--nodes", "4")
    (fabric,) = system.fabrics
    assert (fabric.scheduler.access, fabric.nodes.count, fabric.nodes.cores) == (("--partition=gpu",), 4, 48)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--partition", "compte"), "--partition: no partition 'compte'; expected compute"),
        (("--nodes", "65"), "--nodes: 65 nodes, and the partition compute has 64; expected at most 64"),
        (("--local", "--nodes", "2"), "--partition and --nodes are for Slurm, and --local was given"),
    ],
)
def test_requests_that_cannot_be_met(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], message: str
) -> None:
    install_slurm(tmp_path, monkeypatch, node="ethernet")
    result = new("ours", *arguments)
    assert (result.returncode, result.stderr) == (2, f"fabricbench: {message}\n")


@pytest.mark.parametrize("name", ["", "_ours", "1ours", "o urs", "../ours", "ours/x", "x" * 65, "örs", "a.b"])
def test_names_that_a_system_cannot_have(sites: Path, name: str) -> None:
    result = new("--", name)
    assert result.returncode == 2
    assert "expected a letter, then letters, digits" in result.stderr
    assert [path.name for path in sites.iterdir()] == ["stacks.py"]


@pytest.mark.parametrize("what", ["folder", "file", "dangling link"])
def test_what_exists_is_never_replaced(sites: Path, what: str) -> None:
    path = sites / "ours"
    if what == "folder":
        path.mkdir()
        (path / "settings.py").write_text("mine")
    elif what == "file":
        path.write_text("mine")
    else:
        path.symlink_to(sites / "nowhere")
    result = new("ours", "--local")
    assert result.returncode == 2
    assert "it exists, and no file of it is replaced" in result.stderr
    if what == "folder":
        assert [file.name for file in path.iterdir()] == ["settings.py"]
        assert (path / "settings.py").read_text() == "mine"


def test_without_slurm_the_site_is_a_local_one(sites: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    result = new("laptop")
    assert (result.returncode, result.stderr) == (0, "")
    assert {name: (one.transport, one.scheduler.name) for name, one in fabrics("laptop").items()} == {
        "shm": ("shm", "local"),
        "tcp": ("tcp", "local"),
    }
    assert not (sites / "laptop/spack").exists()


def test_where_no_node_is_free_the_files_of_this_machine_are_read(
    sites: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install_slurm(tmp_path, monkeypatch, node="no such machine")
    host = parse_host()
    result = new("ours")
    assert f"Requested nodes are busy; reading {host} instead" in result.stdout
    if result.returncode == 0:  # this machine has an interface
        text = (sites / "ours/settings.py").read_text()
        assert "No node could be read" in text
        assert "srun -N 1 fabricbench site new" in text
    else:
        assert "no port of an adapter and no interface" in result.stderr
        assert not (sites / "ours").exists()


def parse_host() -> str:
    return Path("/proc/sys/kernel/hostname").read_text().strip()


def test_nodes_that_slurm_shares(sites: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Slurm refuses exclusive jobs, and accepts others."""
    install_slurm(tmp_path, monkeypatch, node="ethernet", refusal="--exclusive")
    result = new("ours")
    assert result.returncode == 0, result.stderr
    assert not fabrics()["eth"].scheduler.exclusive
    assert "Slurm does not allocate whole nodes here" in (sites / "ours/settings.py").read_text()


def test_a_refusal_is_a_note_and_a_problem_of_the_doctor(
    sites: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install_slurm(tmp_path, monkeypatch, node="ethernet", refusal="--partition=compute")
    result = new("ours")
    assert result.returncode == 2
    assert "fabric eth: Slurm would refuse its jobs: allocation failure: Invalid account" in result.stderr
    text = " ".join((sites / "ours/settings.py").read_text().split())
    assert "Slurm would refuse the jobs: allocation failure: Invalid account" in text


@pytest.mark.parametrize(
    ("offered", "pmi", "stacks"),
    [
        ("MPI plugin types are...\n\tnone\n\tpmi2\n\tpmix\n", {}, ("impi", "mpich", "openmpi")),
        (
            "MPI plugin types are...\n\tnone\n\tpmi2\nspecific pmix plugin versions available: pmix_v4,pmix_v5\n",
            {"openmpi": "pmix_v5", "openmpi-tcp": "pmix_v5"},
            ("impi", "mpich", "openmpi"),
        ),
        ("MPI plugin types are...\n\tnone\n\tpmix\n", {}, ("openmpi",)),
    ],
)
def test_the_pmi_of_each_stack(
    sites: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    offered: str,
    pmi: dict[str, str],
    stacks: tuple[str, ...],
) -> None:
    shutil.copytree(CLUSTER, tmp_path / "cluster")
    (tmp_path / "cluster/pmi").write_text(offered)
    install_slurm(tmp_path, monkeypatch, node="ethernet")
    result = new("ours")
    assert result.returncode == 0, result.stderr
    (fabric,) = fabrics().values()
    used = {stack: value for stack, value in pmi.items() if stack in stacks}
    assert (dict(fabric.scheduler.pmi), tuple(one for one in fabric.stacks if one in ("impi", "mpich", "openmpi"))) == (
        used,
        stacks,
    )


def test_slurm_that_does_not_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sinfo").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "sinfo").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("SLURM_CONF", raising=False)
    result = new("ours")
    assert result.returncode == 2
    message = "Slurm does not answer: no scontrol on PATH; --local describes this machine alone"
    assert result.stderr == f"fabricbench: {message}\n"


def test_modules_that_look_like_mpi_are_named(sites: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("openmpi/5.0.lua", "cray-mpich/8.1", "gcc/13.lua"):
        (tmp_path / "modules" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "modules" / name).write_text("")
    monkeypatch.setenv("MODULEPATH", f"{tmp_path}/nowhere:{tmp_path}/modules")
    written(sites, tmp_path, monkeypatch, "ethernet")
    assert "Modules that look like MPI: cray-mpich/8.1, openmpi/5.0." in (sites / "ours/settings.py").read_text()


def test_slurms_configuration_is_kept(sites: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install_slurm(tmp_path, monkeypatch, node="ethernet")
    (tmp_path / "slurm.conf").write_text("")
    monkeypatch.setenv("SLURM_CONF", str(tmp_path / "slurm.conf"))
    assert new("ours").returncode == 0
    assert f'os.environ.setdefault("SLURM_CONF", "{tmp_path}/slurm.conf")' in (sites / "ours/settings.py").read_text()


@pytest.mark.parametrize("node", ["infiniband", "software", "slingshot", ""])
def test_the_text_has_the_form_of_ruff(sites: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, node: str) -> None:
    ruff = Path(sys.executable).with_name("ruff")
    if not ruff.exists():
        pytest.skip("ruff is not installed: make lint")
    if node:
        written(sites, tmp_path, monkeypatch, node)
    else:
        assert new("ours", "--local").returncode == 0
    file = sites / "ours/settings.py"
    for words in (["check", "--no-cache"], ["format", "--no-cache", "--diff"]):
        configuration = ["--config", str(REPOSITORY / "pyproject.toml")]
        result = subprocess.run([ruff, *words, *configuration, file], capture_output=True, text=True, check=False)
        assert result.returncode == 0, result.stdout + result.stderr
    assert load_settings(file).system.name == "ours"
