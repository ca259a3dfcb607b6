# SPDX-License-Identifier: Apache-2.0
"""The base of the checks of the Intel MPI Benchmarks: programs, arguments, and expected rows."""

from collections.abc import Iterator
from pathlib import Path

from reframe.core.builtins import run_before, variable

from fabricbench.launch.facts import Expected, canonical_case
from fabricbench.parsers.imb_table import Tables
from fabricbench.site.programs import SOURCE

from .sized import SizedBenchmark


class Imb(SizedBenchmark):
    """Benchmarks of one program with a fixed number of repetitions, from which their traffic follows.

    A leaf sets ``tool``, ``suite`` (the program), ``tables`` and ``names``, the benchmarks by IMB's names.
    """

    suite: str
    tables: Tables
    names: tuple[str, ...] = ()
    repetitions = variable(int, value=100)
    large_repetitions = variable(int, value=10)

    def benchmark_skip(self) -> tuple[str, str] | None:
        if self.installed.imb is None or not Path(self.program()).exists():
            hint = f"run: fabricbench setup {self.stack.name} --source IMB"
            return f"{self.suite} is not installed for the stack {self.stack.name}", hint
        return None

    def program(self) -> str:
        return str(Path(str(self.installed.imb)).with_name(self.suite))

    def tool_versions(self) -> dict[str, str]:
        build = self.installed.sources.get("imb")
        return super().tool_versions() | ({"imb": f"{build.text} ({SOURCE})"} if build else {})

    @property
    def count(self) -> int:
        """Number of repetitions at each size."""
        return int(self.large_repetitions if self.messages == "large" else self.repetitions)

    def arguments(self) -> list[str]:
        repetitions = ["-iter", str(self.count), "-iter_policy", "off"]
        return [*self.names, "-npmin", str(self.ranks), "-msglen", f"{self.stagedir}/sizes", *repetitions]

    @run_before("run")
    def write_sizes(self) -> None:
        Path(self.stagedir, "sizes").write_text("".join(f"{size}\n" for size in self.sizes()))

    def expected(self) -> Iterator[Expected]:
        for name in map(str.lower, self.names):
            for table in self.tables[name]:
                case = canonical_case(self.case | {"mode": table.mode}) if table.mode else None
                for metric in table.metrics:
                    sizes = self.full_sizes() if "bandwidth" in metric else self.sizes()
                    yield Expected(
                        benchmark=name, case=case, metric=metric, msg_sizes_bytes=sizes if table.sized else None
                    )
