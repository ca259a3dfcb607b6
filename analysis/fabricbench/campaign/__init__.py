# SPDX-License-Identifier: Apache-2.0
"""Reads and writes campaigns: directories of launches. Imports parsers and attestation."""
