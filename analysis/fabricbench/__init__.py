# SPDX-License-Identifier: Apache-2.0
"""What a fabric and an MPI stack cost the applications that run on them."""
