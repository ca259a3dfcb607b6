# SPDX-License-Identifier: Apache-2.0
"""Models of a run: the parts of its run time, its efficiency, and what another network would give.

Plain functions on plain data: no files, no campaigns. Imported by report and verdict.
"""
