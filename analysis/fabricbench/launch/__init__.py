# SPDX-License-Identifier: Apache-2.0
"""The files of a launch, the record computed from them, and the table of values.

Every room above may import it; imports site.
"""
