# SPDX-License-Identifier: Apache-2.0
"""ReFrame itself, as ``runner.reframe`` starts it: without the file of debug messages.

Every call of ReFrame would leave one in the temporary directory, and it takes longer to write than all the rest.
``reframe -v`` prints these messages. A site's own ``logging`` holds as ever.
"""

import sys

from reframe.core.settings import site_configuration
from reframe.frontend.cli import main

if __name__ == "__main__":
    for logging in site_configuration["logging"]:
        logging["handlers"] = []
    sys.exit(main())
