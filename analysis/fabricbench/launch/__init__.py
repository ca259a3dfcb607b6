# SPDX-License-Identifier: Apache-2.0
"""The files of a launch, the record computed from them, and the table of values.

Imported by attestation, campaign, cli, parsers, report, runner, verdict, the checks and site/.
"""
