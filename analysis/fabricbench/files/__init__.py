# SPDX-License-Identifier: Apache-2.0
"""Reads and writes files safely, whatever their origin.

Imported by campaign, cli, discovery, doctor, launch, parsers, processes, report, runner, setup, site and the checks.
"""
