# SPDX-License-Identifier: Apache-2.0
"""Starts other programs and ends those of an earlier run. Imported by cli, runner and setup."""
