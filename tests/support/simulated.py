# SPDX-License-Identifier: Apache-2.0
"""The own programs on a simulated network: in SimGrid's SMPI latency and bandwidth are what the platform says."""

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

APPS = Path(__file__).resolve().parents[2] / "apps"

PLATFORM = """\
<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <config>
    <prop id="smpi/simulate-computation" value="no"/>
    <prop id="smpi/coll-selector" value="mpich"/>
  </config>
  <cluster id="simulated" prefix="n" suffix="" radical="0-{last}" speed="1Gf"
           bw="{bytes_per_second}Bps" lat="{hop_us}us" sharing_policy="SPLITDUPLEX"/>
</platform>
"""


@dataclass(frozen=True)
class Simulator:
    """The programs of ``apps`` built by SMPI's compilers, in ``build``."""

    build: Path

    def run(self, ranks: int, program: str, *arguments: str, **network: float) -> subprocess.CompletedProcess[str]:
        """``program`` (as in ``npb/is/fabricbench-is``) on ``ranks`` hosts of one network.

        ``network``: ``bytes_per_second`` of each link, and ``hop_us``, the latency of each of the two links of a route.
        """
        numbers = {"bytes_per_second": 1e9, "hop_us": 5.0} | network
        platform = self.build / f"platform.{ranks}.xml"
        platform.write_text(PLATFORM.format(last=ranks - 1, **numbers))
        command = ["smpirun", "-np", str(ranks), "-platform", str(platform), "--log=root.thres:critical"]
        return subprocess.run(
            [*command, str(self.build / program), *arguments], capture_output=True, text=True, timeout=300, check=False
        )


def build(directory: Path) -> Simulator:
    """Build the programs; skips where there is no SMPI."""
    compilers = {language: shutil.which(name) for language, name in (("C", "smpicc"), ("CXX", "smpicxx"))}
    fortran = shutil.which("smpif90") and shutil.which("gfortran")
    if None in compilers.values() or not shutil.which("cmake"):
        pytest.skip("needs cmake and SimGrid's SMPI, on Debian: apt-get install libsimgrid-dev")
    if fortran:
        compilers["Fortran"] = shutil.which("smpif90")
    chosen = [f"-DCMAKE_{language}_COMPILER={path}" for language, path in compilers.items()]
    configure = ["cmake", "-S", str(APPS), "-B", str(directory), "-DCMAKE_BUILD_TYPE=Release", "-DBUILD_TESTING=OFF"]
    for command in ([*configure, *chosen], ["cmake", "--build", str(directory), "--parallel", "2"]):
        done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    return Simulator(directory)
