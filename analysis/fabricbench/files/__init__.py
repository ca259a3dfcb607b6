# SPDX-License-Identifier: Apache-2.0
"""Reads and writes files safely, whatever their origin. Every room may import it; imports errors only."""
