# SPDX-License-Identifier: Apache-2.0
"""Runs the project's own programs on a simulated network (SimGrid's SMPI) with known latency and bandwidth."""

import os
import shutil
import subprocess
from dataclasses import asdict, dataclass
from pathlib import Path

import pytest

APPS = Path(__file__).resolve().parents[2] / "apps"
COUNTERS = Path(__file__).with_name("message_counts.c")

PLATFORM = """\
<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <config>
    <prop id="smpi/simulate-computation" value="no"/>
    <prop id="smpi/coll-selector" value="mpich"/>
    <prop id="smpi/wtime" value="{clock_us}e-6"/>
    <prop id="smpi/os" value="0:{send_overhead_us}e-6:0"/>
    <prop id="smpi/ois" value="0:{send_overhead_us}e-6:0"/>
    <prop id="smpi/or" value="0:{receive_overhead_us}e-6:0"/>
    <prop id="smpi/async-small-thresh" value="{eager_bytes}"/>
    <prop id="smpi/send-is-detached-thresh" value="{eager_bytes}"/>
    <prop id="smpi/bw-factor" value="0:1"/>
    <prop id="smpi/lat-factor" value="0:1;{eager_bytes}:{handshake}"/>
    <prop id="network/TCP-gamma" value="0"/>
    <prop id="network/crosstraffic" value="no"/>
  </config>
  <cluster id="simulated" prefix="n" suffix="" radical="0-{last}" speed="1Gf"
           bw="{bytes_per_second}Bps" lat="{hop_us}us" sharing_policy="{sharing}"/>
</platform>
"""


@dataclass(frozen=True)
class Network:
    """The parameters of the simulated network.

    Every host has a link of ``bytes_per_second`` and ``hop_us`` latency, so a route has two links. ``full_duplex``
    links carry that rate in both directions at once. Below ``eager_bytes`` the sender is busy for ``send_overhead_us``
    and does not wait for the message, and the receiver is busy for ``receive_overhead_us``. From ``eager_bytes`` on
    both are busy for the whole transfer, and its latency is ``handshake`` times as long. Reading the clock takes
    ``clock_us``; a loop that polls the clock is simulated one read at a time.
    """

    bytes_per_second: float = 1e9
    hop_us: float = 5.0
    send_overhead_us: float = 0.0
    receive_overhead_us: float = 0.0
    eager_bytes: int = 65536
    handshake: int = 1
    full_duplex: bool = True
    clock_us: float = 0.01

    def xml(self, hosts: int) -> str:
        """Returns the network in SimGrid's format."""
        sharing = "SPLITDUPLEX" if self.full_duplex else "SHARED"
        return PLATFORM.format(last=hosts - 1, sharing=sharing, **asdict(self))


@dataclass(frozen=True)
class Simulator:
    """The programs of ``apps`` built by SMPI's compilers, in ``build``."""

    build: Path

    def run(
        self, ranks: int, program: str, *arguments: str, network: Network = Network(), counts: Path | None = None,
        profile: Path | None = None, inject: str = "",
    ) -> subprocess.CompletedProcess[str]:  # fmt: skip
        """Runs ``program`` (such as ``npb/is/fabricbench-is``) on ``ranks`` hosts of one network.

        A program built with counters writes its MPI calls to ``counts``. ``profile``: the directory of the profile.
        ``inject``: the value of FABRICBENCH_INJECT.
        """
        platform = self.build / f"platform-{os.getpid()}.xml"  # processes of pytest-xdist share the directory
        platform.write_text(network.xml(ranks))
        command = ["smpirun", "-np", str(ranks), "-platform", str(platform), "--log=root.thres:critical"]
        variables = {} if counts is None else {"MESSAGE_COUNTS": str(counts)}
        variables |= {"FABRICBENCH_PROFILE": str(profile)} if profile else {}
        variables |= {"FABRICBENCH_INJECT": inject} if inject else {}
        return subprocess.run(
            [*command, str(self.build / program), *arguments],
            env=os.environ | variables,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )


def build(directory: Path, *targets: str, counters: bool = False) -> Simulator:
    """Builds the programs ``targets``; skips the test without SMPI.

    Programs in Fortran are left out without gfortran. ``counters``: links message_counts.c
    in place of the profiler.
    """
    compilers = {language: shutil.which(name) for language, name in (("C", "smpicc"), ("CXX", "smpicxx"))}
    fortran = shutil.which("smpif90") and shutil.which("gfortran")
    if None in compilers.values() or not shutil.which("cmake"):
        pytest.skip("needs cmake and SimGrid's SMPI, on Debian: apt-get install libsimgrid-dev")
    if fortran:
        compilers["Fortran"] = shutil.which("smpif90")
    options = [f"-DCMAKE_{language}_COMPILER={path}" for language, path in compilers.items()]
    configure = ["cmake", "-S", str(APPS), "-B", str(directory), "-DCMAKE_BUILD_TYPE=Release", "-DBUILD_TESTING=OFF"]
    commands = [[*configure, *options]]
    if counters:
        commands.insert(0, ["smpicc", "-O2", "-c", "-o", "message_counts.o", str(COUNTERS)])
        commands[-1].append(f"-DCMAKE_EXE_LINKER_FLAGS={directory / 'message_counts.o'}")
        commands[-1].append("-DFABRICBENCH_SMPI_PROFILER=OFF")  # it defines the same functions
    in_fortran = {"fabricbench-cg", "fabricbench-ft"}
    built = [target for target in targets if fortran or target not in in_fortran]
    commands.append(["cmake", "--build", str(directory), "--parallel", "2", "--target", *built])
    for command in commands:
        result = subprocess.run(command, cwd=directory, capture_output=True, text=True, timeout=600, check=False)
        assert result.returncode == 0, result.stdout + result.stderr
    return Simulator(directory)
