# SPDX-License-Identifier: Apache-2.0
"""Names of the files and directories in a campaign."""

FACTS = "campaign.json"
LAUNCHES = "launches"
PLANNED = "planned.json"
REQUIREMENTS = "requirements.yaml"
