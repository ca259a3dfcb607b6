# SPDX-License-Identifier: Apache-2.0
"""The command line. Imported by no other room."""

from fabricbench.processes.terminal import ignore_python_settings

ignore_python_settings()  # before the import of libraries, which may emit warnings

from fabricbench.cli.app import app, main  # noqa: E402

__all__ = ["app", "main"]
