# SPDX-License-Identifier: Apache-2.0
"""Reads and writes campaigns, which are directories of launches. Imported by cli, runner and the checks."""
