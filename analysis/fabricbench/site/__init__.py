# SPDX-License-Identifier: Apache-2.0
"""The model of a site: systems, fabrics, stacks, lanes and requirements.

Every room above may import it; imports files and metrics.
"""
