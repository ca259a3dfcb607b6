# SPDX-License-Identifier: Apache-2.0
"""Builds benchmark programs from source trees of the user on each stack, and enters them in its ``stack.json``."""
