# SPDX-License-Identifier: Apache-2.0
"""Statistical functions on plain arrays. Imports nothing of this package."""
