# SPDX-License-Identifier: Apache-2.0
"""Proves which transport carried the bytes of a launch. Imported by campaign and doctor."""
