# SPDX-License-Identifier: Apache-2.0
"""The methods that a leaf check defines, with their defaults."""

from collections.abc import Iterator

import reframe as rfm
from reframe.core.builtins import variable

from fabricbench.launch.facts import Expected, Injection, OmittedSizes, Scalar, WireUp, canonical_case
from fabricbench.site.profilers import ProfilerName
from fabricbench.site.targets import Target


class LeafBase(rfm.RegressionTestPlugin):
    """What a check runs and what it measures.

    A leaf sets ``tool`` and ``benchmark`` and defines ``program``, ``arguments`` and ``expected``. Checks of one
    ``family`` that cannot run on a lane are recorded as one skip, that of the family.
    """

    tool: str = variable(str, loggable=True)
    benchmark: str = variable(str, loggable=True)
    mode: str = variable(str, value="timed", loggable=True)
    ranks: int = variable(int, value=2, loggable=True)
    limit_seconds: float = variable(float, value=120.0)
    case: dict[str, Scalar] = {}
    family = ""
    family_skipped = False
    """Whether the whole family is skipped on this lane."""

    def program(self) -> str:
        """Returns the path of the executable."""
        raise NotImplementedError

    def arguments(self) -> list[str]:
        """Returns its arguments, unquoted."""
        raise NotImplementedError

    def runs(self) -> int:
        """Returns how often the launch starts the program."""
        return 1

    def expected(self) -> Iterator[Expected]:
        """Yields the rows that the launch must produce."""
        return iter(())

    def adapt_to_lane(self) -> None:
        """Sets what depends on the lane, such as the number of ranks. Runs before every other step."""

    def family_skip(self) -> tuple[str, str] | None:
        """Returns the reason why no check of the family can run on this lane, and a hint; None if they can."""
        return None

    def benchmark_skip(self) -> tuple[str, str] | None:
        """Returns the reason why this check cannot run on this lane, and a hint; None if it can."""
        return None

    def sizes_skip(self) -> tuple[str, str] | None:
        """Returns the reason why the launch has no message size, and a hint; None if it has one, or needs none."""
        return None

    def omitted_sizes(self) -> OmittedSizes | None:
        """Returns the message sizes that do not fit into the nodes, with the reason; None if all fit."""
        return None

    @property
    def profiler_name(self) -> ProfilerName | None:
        """The profiler that is loaded into the ranks; None for a launch without."""
        return None

    @property
    def injection(self) -> Injection | None:
        """The delays that are injected into the messages of the launch; None for a launch without."""
        return None

    def applies(self) -> bool:
        """Whether the fabric has the feature that the check measures. Requirements ignore skips without it."""
        return True

    def tool_versions(self) -> dict[str, str]:
        """Returns the versions of the tool, in addition to those of the stack and of this project."""
        return {}

    def target(self) -> Target | None:
        """Returns what the program was built for; None if that is unknown, or the compiler's default."""
        return None

    def wireup_facts(self) -> WireUp | None:
        """Returns the traffic of the lane's wire-up, which attestation subtracts; None if there is none."""
        return None

    def wireup_problem(self) -> str:
        """Returns why ``wireup_facts`` is None; empty if the launch needs no wire-up."""
        return ""

    def planned(self) -> tuple[Expected, ...]:
        """Returns the expected rows for the record of a skip: with their cases, and with the sizes left out."""
        omitted = self.omitted_sizes()
        more = omitted.msg_sizes_bytes if omitted else ()
        rows = []
        for item in self.expected() if self.mode == "timed" else ():
            sizes = None if item.msg_sizes_bytes is None else (*item.msg_sizes_bytes, *more)
            case = canonical_case(self.case) if item.case is None else item.case
            rows.append(item.model_copy(update={"case": case, "msg_sizes_bytes": sizes}))
        return tuple(rows)

    @property
    def message_class(self) -> str | None:
        """``small`` or ``large`` for a benchmark over message sizes; else None."""
        return None if self.family_skipped else getattr(self, "messages", None)

    @property
    def named_case(self) -> str:
        """The case as in the table; empty for a family."""
        return "" if self.family_skipped else canonical_case(self.case)

    @property
    def recorded_benchmark(self) -> str:
        """The name in the record: the benchmark's, or the family's if the whole family is skipped."""
        return self.family if self.family_skipped else self.benchmark
