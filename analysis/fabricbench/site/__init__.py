# SPDX-License-Identifier: Apache-2.0
"""What a site declares: systems, fabrics, stacks, lanes, requirements. Imports files and metrics."""
