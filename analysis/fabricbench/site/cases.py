# SPDX-License-Identifier: Apache-2.0
"""Completes cases that earlier versions wrote, so that old and new launches have the same cells."""

ADDED: dict[str, dict[str, str]] = {"npb": {"code": "own"}}
"""By tool, the parameters that cases of earlier versions lack, with the value that holds for these launches."""


def completed_case(tool: str, case: str) -> str:
    """Returns a case as this version writes it: ``k=v k=v``, with the parameters of ``tool`` that it lacks."""
    words = case.split()
    present = {word.partition("=")[0] for word in words}
    missing = [f"{name}={value}" for name, value in ADDED.get(tool, {}).items() if name not in present]
    return " ".join(sorted([*words, *missing])) if missing else case
