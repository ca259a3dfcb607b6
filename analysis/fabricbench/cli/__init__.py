# SPDX-License-Identifier: Apache-2.0
"""The command line."""

from fabricbench.cli.commands import app, main

__all__ = ["app", "main"]
