# SPDX-License-Identifier: Apache-2.0
"""Runs campaigns with ReFrame, block by block. Imports doctor and everything that reads campaigns."""
