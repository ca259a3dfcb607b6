# SPDX-License-Identifier: Apache-2.0
"""What ReFrame shows of a launch and compares with references: the table has the rest."""

import re
from functools import cache
from pathlib import Path

import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.builtins import run_before

from fabricbench.files.layout import REQUIREMENTS
from fabricbench.launch.facts import canonical_case
from fabricbench.launch.record import Row
from fabricbench.metrics import METRICS
from fabricbench.site.requirements import AbsoluteBound, Requirements, absolute_bounds, as_reference
from fabricbench.site.requirements_file import load_requirements


@cache
def _requirements(file: Path) -> Requirements:
    return load_requirements(file)


class MetricsMixin(rfm.RegressionTestPlugin):
    """Makes performance variables of a record's rows, and references of the site's absolute bounds."""

    @run_before("performance")
    def show_metrics(self) -> None:
        """What ReFrame prints and compares."""
        self.show()

    def shown(self) -> tuple[Row, ...]:
        """The rows that ReFrame is told of."""
        return self.record().rows

    def show(self) -> None:
        """The first and the last size of every metric; the campaign's table has them all."""
        ends: dict[tuple[str, str, str], list[Row]] = {}
        for row in self.shown():
            ends.setdefault((row.benchmark, row.case, row.metric), []).append(row)
        for rows in ends.values():
            for row in {id(row): row for row in (rows[0], rows[-1])}.values():
                make = sn.make_performance_function(sn.defer(row.value), METRICS[row.metric].unit)
                self.perf_variables[self._shown_as(row)] = make
        self._refer_to_requirements()

    def _shown_as(self, row: Row) -> str:
        """The row's name in ReFrame: with its case, where that is not the launch's own."""
        size = "" if row.msg_size_bytes is None else f"_{row.msg_size_bytes}B"
        case = "" if row.case == canonical_case(self.case) else "_" + re.sub(r"[^\w-]+", "_", row.case)
        return f"{row.benchmark}_{row.metric}{case}{size}"

    def _refer_to_requirements(self) -> None:
        """The site's absolute bounds as ReFrame's references: a plain ``reframe -r`` raises the alarm too."""
        file = Path(self.fabric_facts["site"]) / REQUIREMENTS
        if not file.exists():
            return
        lane = {"fabric": self.fabric_facts["fabric"], "stack": self.stack_facts["stack"]}
        bounds = absolute_bounds(_requirements(file), tool=self.tool, **lane)
        for row in self.record().rows:
            found = [
                bound
                for bound in bounds
                if (row.benchmark, row.metric) == (bound.benchmark, bound.metric)
                and bound.sizes.contains(row.msg_size_bytes)
            ]
            if found:
                self._refer(row, found)

    def _refer(self, row: Row, bounds: list[AbsoluteBound]) -> None:
        """All bounds on this value together: the tightest of each side. Of two that contradict each other the one
        that the value breaks."""
        name, unit = self._shown_as(row), bounds[0].unit
        self.perf_variables[name] = sn.make_performance_function(sn.defer(row.value), unit)
        here = f"{self.current_system.name}:{self.current_partition.name}"
        self.reference[f"{here}:{name}"] = as_reference(row.value, bounds)
