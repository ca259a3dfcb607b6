# SPDX-License-Identifier: Apache-2.0
"""Fabricbench measures MPI stacks on fabrics, proves which transport carried the bytes, and judges the results."""
