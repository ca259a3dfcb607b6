# SPDX-License-Identifier: Apache-2.0
"""Starts other programs and ends those of an earlier run. Every room that starts programs may import it."""
