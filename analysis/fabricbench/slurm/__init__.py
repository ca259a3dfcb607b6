# SPDX-License-Identifier: Apache-2.0
"""Queries Slurm and requests allocations. Doctor, runner and cli may import it; imports processes."""
