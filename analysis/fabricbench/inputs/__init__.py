# SPDX-License-Identifier: Apache-2.0
"""The GROMACS inputs: the committed systems, and the ``.tpr`` files made of them. Starts no process.

Imported by cli, setup and the checks.
"""
