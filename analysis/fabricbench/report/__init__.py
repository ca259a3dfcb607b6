# SPDX-License-Identifier: Apache-2.0
"""Makes the report, one HTML page per campaign, and its figures. Imported by cli."""
