# SPDX-License-Identifier: Apache-2.0
"""Names of the files and directories in a campaign."""

FACTS = "campaign.json"
LAUNCHES = "launches"
PLANNED = "planned.json"
REMOVED = "removed-nodes.json"
REQUIREMENTS = "requirements.yaml"

SKIPPED = ("skipped.json", "gap.json")
"""Names of the file that replaces ``launch.json`` for a skipped launch: the current one and that of version 1."""
