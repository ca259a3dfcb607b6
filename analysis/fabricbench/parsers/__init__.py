# SPDX-License-Identifier: Apache-2.0
"""Reads the output of each tool: values and payload. Imported by campaign and the rooms above it; imports launch."""
