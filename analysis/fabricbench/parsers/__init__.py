# SPDX-License-Identifier: Apache-2.0
"""Reads the output of each tool: values and payload.

Imported by campaign, cli, doctor, models, report, setup, verdict and the checks.
"""
