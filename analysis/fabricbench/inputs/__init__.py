# SPDX-License-Identifier: Apache-2.0
"""GROMACS inputs: what each system is, its steps, its checks, and where the finished ones lie. Starts no process."""
