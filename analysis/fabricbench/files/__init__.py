# SPDX-License-Identifier: Apache-2.0
"""Reads and writes files safely, whatever their origin. Imports errors only."""
