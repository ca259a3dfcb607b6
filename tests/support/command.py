# SPDX-License-Identifier: Apache-2.0
"""Calls ``fabricbench`` and ``reframe`` within this process, which saves the start of another Python."""

import io
import os
import subprocess
import sys
from collections.abc import Mapping
from contextlib import chdir, redirect_stderr, redirect_stdout
from unittest.mock import patch

from fabricbench.cli import main
from fabricbench.runner import reframe
from fabricbench.site.settings import REPOSITORY


def inside(*arguments: str, environment: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Calls the command and returns its output and exit status. ``environment`` replaces that of this process."""
    words, output, errors = ["fabricbench", *arguments], io.StringIO(), io.StringIO()
    with (
        patch.dict(os.environ, environment or {}, clear=environment is not None),
        patch.object(sys, "argv", words),
        redirect_stdout(output),
        redirect_stderr(errors),
    ):
        try:
            main()
            status = 0
        except SystemExit as ended:
            status = int(ended.code or 0)
    return subprocess.CompletedProcess(words, status, output.getvalue(), errors.getvalue())


def reframe_inside(*arguments: str, environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """Runs ``reframe`` as in a sourced environment. Only ReFrame itself has a process of its own."""
    words, output, errors = ["reframe", *arguments], io.StringIO(), io.StringIO()
    with (
        patch.dict(os.environ, environment, clear=True),
        patch.object(sys, "argv", words),
        chdir(REPOSITORY),
        redirect_stdout(output),
        redirect_stderr(errors),
    ):
        status = reframe.main()
    return subprocess.CompletedProcess(words, status, output.getvalue(), errors.getvalue())
