# SPDX-License-Identifier: Apache-2.0
"""``fabricbench`` within this process, for tests of what it says: to start it takes longer than that."""

import io
import os
import subprocess
import sys
from collections.abc import Mapping
from contextlib import redirect_stderr, redirect_stdout
from unittest.mock import patch

from fabricbench.cli import main


def inside(*arguments: str, environment: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """What the command prints and its exit status; ``environment`` takes the place of this process's."""
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
