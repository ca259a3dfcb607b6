# SPDX-License-Identifier: Apache-2.0
"""Checks lanes and sites before anything is measured. Runner and cli may import it; imports setup and slurm."""
