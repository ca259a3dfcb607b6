# SPDX-License-Identifier: Apache-2.0
"""Starts other programs, and ends those that an earlier run left. Imports files."""
