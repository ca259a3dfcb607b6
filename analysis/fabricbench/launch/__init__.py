# SPDX-License-Identifier: Apache-2.0
"""A session of ReFrame and its configuration, the files of a launch, its record, and the table of values.

Imported by attestation, campaign, cli, parsers, report, runner, setup, verdict, the checks and site/.
"""
