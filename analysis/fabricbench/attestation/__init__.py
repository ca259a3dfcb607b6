# SPDX-License-Identifier: Apache-2.0
"""Proves which transport carried the bytes of a launch.

Campaign and the rooms above it may import it; imports launch.
"""
