# SPDX-License-Identifier: Apache-2.0
"""Finds what is wrong with lanes and sites before anything is measured. Imports setup and slurm."""
