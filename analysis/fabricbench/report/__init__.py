# SPDX-License-Identifier: Apache-2.0
"""One self-contained HTML page per campaign, and its drawings."""

from fabricbench.report.figures import lane_curves_svg
from fabricbench.report.page import report

__all__ = ["lane_curves_svg", "report"]
