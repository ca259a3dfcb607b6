# SPDX-License-Identifier: Apache-2.0
"""Checks lanes and sites before anything is measured. Imported by cli and runner."""
