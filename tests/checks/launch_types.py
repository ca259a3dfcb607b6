# SPDX-License-Identifier: Apache-2.0
"""Types that mypy must know between a site and a launch. ``tests/lint.sh`` runs mypy on this file; nothing imports it.

The bases of ReFrame are Any for mypy, so a class that does not inherit an attribute from this project's bases reads it
as Any without an error.
"""

from typing import assert_type

from reframe_checks.base.benchmark import BenchmarkMixin
from reframe_checks.base.cores import CoresMixin
from reframe_checks.base.facts import FactsBase
from reframe_checks.base.job import JobBase
from reframe_checks.base.metrics import MetricsBase
from reframe_checks.base.ports import PortsBase
from reframe_checks.base.sized import SizedMixin
from reframe_checks.rails import Rails

from fabricbench.launch.facts import Launch
from fabricbench.launch.record import Record
from fabricbench.site.fabric import Fabric
from fabricbench.site.lane import Lane
from fabricbench.site.stacks import Installed, Stack


def bases(check: PortsBase | JobBase | FactsBase | MetricsBase) -> None:
    assert_type(check.lane, Lane)
    assert_type(check.fabric, Fabric)
    assert_type(check.stack, Stack)
    assert_type(check.installed, Installed)
    assert_type(check.lane_variables(), dict[str, str])
    assert_type((check.ranks, check.nodes), tuple[int, int])
    assert_type((check.rank_binding, check.selected_port), tuple[str, str])


def launches(check: FactsBase) -> None:
    assert_type(check._launch(), Launch)
    assert_type(check.launch_id, str)


def records(check: MetricsBase) -> None:
    assert_type(check.record(), Record)


def mixins(check: BenchmarkMixin, cores: CoresMixin, sized: SizedMixin, rails: Rails) -> None:
    assert_type(check.lane, Lane)
    assert_type(cores.fabric, Fabric)
    assert_type(sized.installed, Installed)
    assert_type(rails.stack, Stack)
