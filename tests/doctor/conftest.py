# SPDX-License-Identifier: Apache-2.0
"""The site of the doctor's tests."""

from doctor.synthetic_site import site

__all__ = ["site"]
