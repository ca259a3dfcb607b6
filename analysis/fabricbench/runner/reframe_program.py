# SPDX-License-Identifier: Apache-2.0
"""Runs ReFrame without its file of debug messages, for ``runner.reframe``.

ReFrame would write such a file to the temporary directory at every call, which takes most of its time. ``reframe -v``
prints these messages. The ``logging`` section of a site stays in effect.
"""

import sys

from reframe.core.settings import site_configuration
from reframe.frontend.cli import main

if __name__ == "__main__":
    for logging in site_configuration["logging"]:
        logging["handlers"] = []
    sys.exit(main())
