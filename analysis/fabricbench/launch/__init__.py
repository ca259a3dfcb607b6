# SPDX-License-Identifier: Apache-2.0
"""The facts of one launch, its record, and the table of values. Imports site."""
