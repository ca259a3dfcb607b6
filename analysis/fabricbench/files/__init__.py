# SPDX-License-Identifier: Apache-2.0
"""Reads and writes files safely, whatever their origin.

Imported by campaign, cli, doctor, launch, parsers, processes, report, runner, setup, site and the checks.
"""
