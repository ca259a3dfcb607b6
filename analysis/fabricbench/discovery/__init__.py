# SPDX-License-Identifier: Apache-2.0
"""Reads what a machine is, from Slurm and from the files of a node, and writes a site for it. Imported by cli."""
