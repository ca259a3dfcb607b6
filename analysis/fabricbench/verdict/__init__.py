# SPDX-License-Identifier: Apache-2.0
"""Judges a campaign against requirements, compares lanes, and finds slow nodes. Imported by cli and report."""
