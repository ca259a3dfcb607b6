# SPDX-License-Identifier: Apache-2.0
"""Describes an attribution in a sentence."""

from fabricbench.verdict.attribution import Attribution

PART_NAMES = {
    "computation": "computation",
    "latency": "latency",
    "bandwidth": "bandwidth",
    "waiting": "waiting for other ranks",
    "undivided": "waiting or rest",
    "rest": "rest",
}
"""How tables and figures name each part. ``undivided`` is time whose operations lack time stamps."""

_SMALLEST = 0.0005
"""A part of MPI with a smaller share of T is left out of the sentence."""


def sentence(attribution: Attribution) -> str:
    """Returns the shares of T in words: ``61 % of the run is MPI: bandwidth 48, waiting for other ranks 9, …``.

    The numbers are medians over blocks in per cent of T, the largest first. A negative rest is called overlap.
    """
    if not attribution.blocks:
        return "The run time is not attributed."
    shares = {name: value.estimate or 0.0 for name, value in attribution.shares.items()}
    computation = shares.pop("computation", 0.0)
    parts = [
        f"{_name(name, share)} {_points(share)}"
        for name, share in sorted(shares.items(), key=lambda item: (-abs(item[1]), item[0]))
        if abs(share) >= _SMALLEST
    ]
    unexplained = attribution.unexplained.estimate
    return "".join(
        (
            f"{_points(1 - computation)} % of the run is MPI",
            f": {', '.join(parts)}" if parts else "",
            "" if unexplained is None else f"; the unexplained share is {_points(unexplained)} %",
            f". Dominant: {PART_NAMES.get(attribution.label, attribution.label)}." if attribution.label else ".",
        )
    )


def _name(part: str, share: float) -> str:
    return "overlap" if part == "rest" and share < 0 else PART_NAMES.get(part, part)


def _points(share: float) -> str:
    """A share in per cent: whole numbers from 10 on, else one decimal without a trailing zero."""
    value = 100 * share
    text = f"{value:.0f}" if abs(value) >= 9.95 else f"{value:.1f}".removesuffix(".0")
    return "0" if text == "-0" else text.replace("-", "\u2212")
