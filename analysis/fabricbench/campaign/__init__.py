# SPDX-License-Identifier: Apache-2.0
"""Reads and writes campaigns, which are directories of launches.

Checks, verdict and the rooms above it may import it; it imports parsers and attestation.
"""
