# SPDX-License-Identifier: Apache-2.0
"""Runs campaigns with ReFrame, block by block. Only cli imports it; it may import every other room except cli."""
