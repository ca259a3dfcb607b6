# SPDX-License-Identifier: Apache-2.0
"""Environment modules: what they change, which MPI library they provide, and the commands that load them in jobs."""

import os
import subprocess
from pathlib import Path

import pytest

from fabricbench.errors import BadInput
from fabricbench.setup import modules
from fabricbench.setup.external import Choice, located
from fabricbench.setup.modules import load, module_names
from fabricbench.site.modules import Modules
from support.toy_modules import REAL, ModuleSystem, login, module_system
from support.toy_mpi import program


@pytest.fixture(params=["toy", *REAL])
def system(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleSystem:
    """A module system with the modules of a compiler, of an MPI library, and of another one."""
    start = REAL.get(request.param)
    if start is not None and not start.exists():
        pytest.skip(f"needs Debian's {request.param}")
    load.cache_clear()
    system = module_system(tmp_path, monkeypatch, start=start)
    for name in ("mvapich2", "openmpi"):
        (tmp_path / name / "bin").mkdir(parents=True)
        for command in ("mpicc", "mpirun"):
            program(tmp_path / name, command, "exit 0")
        system.add(
            f"{name}/1.0",
            prepend=(("PATH", f"{tmp_path}/{name}/bin"), ("LD_LIBRARY_PATH", f"{tmp_path}/{name}/lib")),
            MV2_HOMOGENEOUS_CLUSTER="1",
        )
    system.add("gcc/12", prepend=(("PATH", f"{tmp_path}/gcc/bin"),), CC="gcc-12")
    return system


def test_the_prefix_that_modules_provide(system: ModuleSystem, tmp_path: Path) -> None:
    external = located(Choice(modules=("gcc/12", "mvapich2/1.0")))
    assert (external.source, str(external.prefix)) == ("module", f"{tmp_path}/mvapich2")
    assert external.modules is not None
    assert external.modules.names == ("gcc/12", "mvapich2/1.0")
    assert external.modules.variables == {
        "LD_LIBRARY_PATH": f"{tmp_path}/mvapich2/lib",
        "MV2_HOMOGENEOUS_CLUSTER": "1",
    }
    assert external.environment["CC"] == "gcc-12"
    path = external.environment["PATH"].split(":")
    assert path[:2] == [f"{tmp_path}/mvapich2/bin", f"{tmp_path}/gcc/bin"]
    assert path[2:] == os.environ["PATH"].split(":")


def test_modules_that_the_shell_has_loaded_already(
    system: ModuleSystem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not system.is_real:
        pytest.skip("the toy cannot unload modules")
    for name, value in load(("mvapich2/1.0",)).after.items():
        monkeypatch.setenv(name, value)
    load.cache_clear()
    assert str(located(Choice(modules=("mvapich2/1.0",))).prefix) == f"{tmp_path}/mvapich2"


def test_the_default_version_is_recorded(system: ModuleSystem) -> None:
    if not system.is_real:
        pytest.skip("the toy has no default versions")
    assert load(("mvapich2",)).modules.names == ("mvapich2/1.0",)


@pytest.mark.parametrize(
    ("names", "prefix", "message"),
    [
        (("mvapich2/9.9",), "", "--module: cannot load mvapich2/9.9: .*mvapich2/9.9.*; module avail lists the mod"),
        (("gcc/12",), "", "--module: gcc/12 add no directory with mpicc to PATH; expected the modules of an MPI lib"),
        (("mvapich2/1.0", "openmpi/1.0"), "", "provide several MPI libraries: .*openmpi, .*mvapich2; expected "),
        (("mvapich2/1.0",), "openmpi", "--prefix: .*/openmpi is not the prefix of mvapich2/1.0, .*/mvapich2; leave"),
        (("mvapich2/1.0",), "absent", "--prefix: .*/absent: No such file or directory$"),
    ],
)
def test_modules_that_cannot_be_used(
    system: ModuleSystem, tmp_path: Path, names: tuple[str, ...], prefix: str, message: str
) -> None:
    with pytest.raises(BadInput, match=message) as caught:
        located(Choice(str(tmp_path / prefix) if prefix else "", names))
    assert "\n" not in str(caught.value)


def test_a_prefix_beside_modules_that_provide_none_or_the_same(system: ModuleSystem, tmp_path: Path) -> None:
    for name in ("gcc/12", "mvapich2/1.0"):
        external = located(Choice(f"{tmp_path}/mvapich2", (name,)))
        assert (external.source, str(external.prefix)) == ("module", f"{tmp_path}/mvapich2")


def test_a_login_shell_without_modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    load.cache_clear()
    login(tmp_path / "home", "unset -f module", monkeypatch)
    with pytest.raises(BadInput, match="a login shell of bash has no command 'module'; install Lmod or Env"):
        load(("mvapich2",))


def test_a_module_system_that_does_not_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    load.cache_clear()
    login(tmp_path / "home", "sleep 60", monkeypatch)
    monkeypatch.setattr(modules, "LIMIT_SECONDS", 0.2)
    with pytest.raises(BadInput, match=r"the module system did not answer within 0\.2 s"):
        load(("mvapich2",))


@pytest.mark.parametrize("text", ["", "a,", "$(reboot)", "a;b", "a b", "-f", "--force", "../x", "a//b", "é"])
def test_a_text_that_is_no_name(text: str) -> None:
    with pytest.raises(BadInput, match=r"--module: .*; expected NAME\[,NAME\]"):
        module_names(text)


def test_names() -> None:
    assert module_names("gcc/12.2, mvapich2/2.3.7-1+rdma") == ("gcc/12.2", "mvapich2/2.3.7-1+rdma")


def run(script: list[str]) -> subprocess.CompletedProcess[str]:
    """Runs the commands of a job in a shell that has not defined ``module``."""
    argv = ["bash", "--noprofile", "--norc", "-c", "\n".join(script)]
    return subprocess.run(argv, capture_output=True, text=True, check=False)


def test_the_commands_of_a_job(system: ModuleSystem, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = load(("gcc/12", "mvapich2/1.0")).modules
    monkeypatch.delenv("MODULEPATH")
    result = run([*loaded.commands("echo failed"), 'echo "$CC $MV2_HOMOGENEOUS_CLUSTER"'])
    assert (result.returncode, result.stdout) == (0, "gcc-12 1\n"), result.stderr


def test_a_module_that_a_node_does_not_have(system: ModuleSystem) -> None:
    loaded = load(("gcc/12",)).modules
    absent = Modules(names=("gcc/12", "absent/1"), start=loaded.start, path=loaded.path)
    result = run([*absent.commands('echo "no $name"'), "echo launched"])
    assert result.returncode == 1
    assert result.stdout in ("no absent/1\n", "no gcc/12\n")  # Lmod loads all modules or none
