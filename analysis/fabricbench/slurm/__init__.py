# SPDX-License-Identifier: Apache-2.0
"""Queries Slurm and requests allocations. Imported by discovery, doctor and runner."""
