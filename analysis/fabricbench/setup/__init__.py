# SPDX-License-Identifier: Apache-2.0
"""Finds or installs stacks and libraries, and builds the benchmarks on them. Imported by cli and doctor."""
