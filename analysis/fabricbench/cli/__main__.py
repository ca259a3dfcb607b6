# SPDX-License-Identifier: Apache-2.0
"""``python -m fabricbench.cli``."""

from fabricbench.cli import main

main()
