# SPDX-License-Identifier: Apache-2.0
"""Makes a command independent of the Python settings in its user's shell."""

import logging
import os
import sys
import warnings


def ignore_python_settings() -> None:
    """Writes characters that the terminal's encoding lacks as escapes, and keeps warnings from ending the command.

    ``PYTHONWARNINGS=error`` would turn warnings of libraries into errors, in this process and in every Python process
    that it starts.
    """
    for stream in (sys.stdout, sys.stderr):
        if (reconfigure := getattr(stream, "reconfigure", None)) is not None:
            reconfigure(errors="backslashreplace")
    if os.environ.pop("PYTHONWARNINGS", ""):
        warnings.simplefilter("default")
    logging.getLogger("matplotlib").setLevel(logging.ERROR)  # it warns if the user has no home directory
