# SPDX-License-Identifier: Apache-2.0
"""Statistical functions on plain arrays. Verdict and report may import it; imports no other room."""
