# SPDX-License-Identifier: Apache-2.0
"""The maintainer's program that makes the committed GROMACS systems; no command of Fabricbench imports it."""
