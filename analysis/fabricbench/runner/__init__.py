# SPDX-License-Identifier: Apache-2.0
"""Runs campaigns with ReFrame, block by block. Imported by cli."""
