# SPDX-License-Identifier: Apache-2.0
"""Finds or installs stacks and libraries, and builds the benchmarks on them. Doctor, runner and cli may import it."""
