# SPDX-License-Identifier: Apache-2.0
"""Finds GROMACS builds, and prepares the GROMACS inputs with ``gmx grompp``."""
