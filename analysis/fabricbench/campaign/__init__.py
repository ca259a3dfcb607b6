# SPDX-License-Identifier: Apache-2.0
"""Reads and writes campaigns, which are directories of launches.

Checks, stats and the rooms above may import it; imports parsers, attestation.
"""
