# SPDX-License-Identifier: Apache-2.0
"""The own programs under SimGrid's SMPI, which links programs as shared objects and runs all ranks in one process."""

import pytest

from support import simulated
from support.simulated import Simulator


@pytest.fixture(scope="module")
def simulator(tmp_path_factory: pytest.TempPathFactory) -> Simulator:
    return simulated.build(tmp_path_factory.mktemp("smpi"))


@pytest.mark.parametrize("ranks", [1, 2, 4])
@pytest.mark.parametrize("kernel", ["is", "cg", "ft"])
def test_kernels_verify_on_a_simulated_network(simulator: Simulator, kernel: str, ranks: int) -> None:
    program = f"npb/{kernel}/fabricbench-{kernel}"
    if not (simulator.build / program).exists():
        pytest.skip(f"{kernel} needs gfortran")
    done = simulator.run(ranks, program, "--class", "S")
    assert done.returncode == 0, done.stdout + done.stderr
    report = dict(line.split("=") for line in done.stdout.splitlines() if line.count("=") == 1)
    values = {name.strip(): value.strip() for name, value in report.items()}
    assert (values["Total processes"], values["Verification"]) == (str(ranks), "SUCCESSFUL")
