# SPDX-License-Identifier: Apache-2.0
"""The command line."""

from fabricbench.processes.terminal import ignore_python_settings

ignore_python_settings()  # before libraries are imported, which may warn

from fabricbench.cli.commands import app, main  # noqa: E402

__all__ = ["app", "main"]
