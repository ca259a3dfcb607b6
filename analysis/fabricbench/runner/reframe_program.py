# SPDX-License-Identifier: Apache-2.0
"""Runs ReFrame without its file of debug messages and without checks that ``-n`` excludes, for ``runner.reframe``.

ReFrame would write such a file to the temporary directory at every call, which takes most of its time. ``reframe -v``
prints these messages. The ``logging`` section of a site stays in effect.
"""

import sys
from pathlib import Path
from typing import Any

import reframe
from reframe.core.settings import site_configuration
from reframe.frontend.cli import main
from reframe.frontend.loader import RegressionCheckLoader

from fabricbench.runner.chosen_checks import class_beginnings, filtered, may_define


def _load_only(beginnings: tuple[str, ...]) -> None:
    """Makes ReFrame load only files and classes that may be checks whose name begins with one of ``beginnings``."""
    load = RegressionCheckLoader.load_from_file

    def load_from_file(loader: Any, filename: str, force: bool = False) -> Any:
        source = Path(filename).read_text(encoding="utf-8", errors="replace")
        return load(loader, filename, force) if may_define(source, beginnings) else []

    RegressionCheckLoader.load_from_file = load_from_file
    reframe.simple_test = filtered(reframe.simple_test, beginnings)


if __name__ == "__main__":
    for logging in site_configuration["logging"]:
        logging["handlers"] = []
    chosen = class_beginnings(sys.argv[1:])
    if chosen is not None:
        _load_only(chosen)
    sys.exit(main())
