# SPDX-License-Identifier: Apache-2.0
"""Finds GROMACS, and makes its inputs with it."""
