# SPDX-License-Identifier: Apache-2.0
"""One module per tool, of the same name."""
