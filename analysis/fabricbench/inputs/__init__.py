# SPDX-License-Identifier: Apache-2.0
"""The GROMACS inputs: the committed systems, and the ``.tpr`` files made of them.

Checks, setup and cli may import it; starts no process.
"""
