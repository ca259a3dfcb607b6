# SPDX-License-Identifier: Apache-2.0
"""What Slurm has and grants: its state, and allocations. Starts its commands."""
