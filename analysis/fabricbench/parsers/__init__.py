# SPDX-License-Identifier: Apache-2.0
"""From a tool's output to values and payload; one module per tool in ``tools``. Imports launch."""
