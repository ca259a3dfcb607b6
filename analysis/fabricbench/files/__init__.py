# SPDX-License-Identifier: Apache-2.0
"""Reads and writes files safely, whoever made them. Imports errors only."""
