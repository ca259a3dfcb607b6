# SPDX-License-Identifier: Apache-2.0
"""Makes a command independent of how its user's shell has set Python up."""

import logging
import os
import sys
import warnings


def ignore_python_settings() -> None:
    """Print every character on every terminal, and let no warning end the command.

    A character that the terminal's encoding lacks is written as an escape. ``PYTHONWARNINGS=error`` would turn warnings
    of libraries into errors, here and in every Python that this process starts.
    """
    for stream in (sys.stdout, sys.stderr):
        if (reconfigure := getattr(stream, "reconfigure", None)) is not None:
            reconfigure(errors="backslashreplace")
    if os.environ.pop("PYTHONWARNINGS", ""):
        warnings.simplefilter("default")
    logging.getLogger("matplotlib").setLevel(logging.ERROR)  # it warns where the user has no home directory
