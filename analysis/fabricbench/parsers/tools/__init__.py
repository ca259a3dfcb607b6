# SPDX-License-Identifier: Apache-2.0
"""The parser of each tool: a module with the tool's name. A module whose name begins with an underscore is a helper."""
