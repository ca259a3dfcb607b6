# SPDX-License-Identifier: Apache-2.0
"""The long form of the tests: more ranks, stacks, repeats and random cases, for which ``make test`` has no time."""

import os

LONG = "FABRICBENCH_TEST_LONG"
"""Variable that selects the long form."""


def is_long() -> bool:
    """Whether the tests run in their long form."""
    return bool(os.environ.get(LONG))
