# SPDX-License-Identifier: Apache-2.0
"""Reads the output of each tool: values and payload.

Imported by campaign, cli, doctor, report, setup, verdict and the checks.
"""
