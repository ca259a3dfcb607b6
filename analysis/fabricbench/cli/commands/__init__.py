# SPDX-License-Identifier: Apache-2.0
"""One module per command: its options and what it prints.

These modules are imported for every ``fabricbench --help``. They import libraries and other rooms inside the function
of the command (``tests/cli/test_imports.py``).
"""
