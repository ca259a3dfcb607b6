# SPDX-License-Identifier: Apache-2.0
"""The metrics that ReFrame shows of a launch and compares with references. The campaign's table has all of them."""

import re
from functools import cache
from pathlib import Path

import reframe.utility.sanity as sn
from reframe.core.builtins import run_before

from fabricbench.campaign.collect import collect
from fabricbench.files.layout import REQUIREMENTS
from fabricbench.launch.facts import canonical_case
from fabricbench.launch.record import Record, Row
from fabricbench.launch.session import session
from fabricbench.metrics import METRICS
from fabricbench.site.requirements import AbsoluteBound, Requirements, absolute_bounds, as_reference
from fabricbench.site.requirements_file import load_requirements

from .facts import FactsBase
from .lane import system


@cache
def _requirements(file: Path) -> Requirements:
    return load_requirements(file)


class MetricsBase(FactsBase):
    """Makes performance variables of the rows of the record, and references of the site's absolute bounds."""

    def record(self) -> Record:
        """Returns the record of this launch, derived once."""
        if (record := getattr(self, "_record", None)) is None:
            directory = Path(self.stagedir)
            record = collect(directory, directory.relative_to(Path(session().campaign) / "launches").as_posix())
            self._record = record
        return record

    @run_before("performance")
    def report_metrics(self) -> None:
        """Sets what ReFrame prints and compares."""
        self.set_performance_variables()

    def reported_rows(self) -> tuple[Row, ...]:
        """Returns the rows from which ReFrame's performance variables are made."""
        return self.record().rows

    def set_performance_variables(self) -> None:
        """Makes a variable of the first and of the last size of every metric."""
        by_metric: dict[tuple[str, str, str], list[Row]] = {}
        for row in self.reported_rows():
            by_metric.setdefault((row.benchmark, row.case, row.metric), []).append(row)
        for rows in by_metric.values():
            for row in {id(row): row for row in (rows[0], rows[-1])}.values():
                make = sn.make_performance_function(sn.defer(row.value), METRICS[row.metric].unit)
                self.perf_variables[self._variable_name(row)] = make
        self._set_references()

    def _variable_name(self, row: Row) -> str:
        """Returns the name of a row's variable, with the row's case if it is not the launch's own."""
        size = "" if row.msg_size_bytes is None else f"_{row.msg_size_bytes}B"
        case = "" if row.case == canonical_case(self.case) else "_" + re.sub(r"[^\w-]+", "_", row.case)
        return f"{row.benchmark}_{row.metric}{case}{size}"

    def _set_references(self) -> None:
        """Makes references of the site's absolute bounds, so that ``reframe -r`` fails if a value breaks one."""
        file = system().folder / REQUIREMENTS
        if not file.exists():
            return
        lane = {"fabric": self.fabric.name, "stack": self.stack.name, "variant": self.lane.variant}
        bounds = absolute_bounds(_requirements(file), tool=self.tool, **lane)
        for row in self.record().rows:
            matches = [
                bound
                for bound in bounds
                if (row.benchmark, row.metric) == (bound.benchmark, bound.metric)
                and bound.sizes.contains(row.msg_size_bytes)
            ]
            if matches:
                self._set_reference(row, matches)

    def _set_reference(self, row: Row, bounds: list[AbsoluteBound]) -> None:
        """Sets the tightest bound of each side. Of two contradicting bounds it takes the one that the value breaks."""
        name, unit = self._variable_name(row), bounds[0].unit
        self.perf_variables[name] = sn.make_performance_function(sn.defer(row.value), unit)
        here = f"{self.current_system.name}:{self.current_partition.name}"
        self.reference[f"{here}:{name}"] = as_reference(row.value, bounds)
