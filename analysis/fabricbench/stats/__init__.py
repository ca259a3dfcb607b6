# SPDX-License-Identifier: Apache-2.0
"""Statistical functions on plain arrays. Imported by report and verdict."""
