# SPDX-License-Identifier: Apache-2.0
"""Reads MPI profiles in the text format of TAU, from TAU itself and from this project's profiler.

``files.read_profile`` reads the profile of a launch directory, ``rows.rows_of`` derives the launch's rows from it, and
``export.export`` writes the directory of files that TAU's tools read.
"""
