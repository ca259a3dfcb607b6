# SPDX-License-Identifier: Apache-2.0
"""Writes numbers, sizes, names and anchors of the report."""

import math
import re
from collections.abc import Iterable
from datetime import UTC, datetime

from fabricbench.verdict.nodes import natural

NARROW = "\u202f"
"""Narrow no-break space: the separator of thousands, and of a number and its unit."""

MISSING = "–"

_BINARY = ("B", "KiB", "MiB", "GiB", "TiB")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
_NUMBERED = re.compile(r"(.*?)([0-9]{1,9})(\D*)", re.DOTALL)
_ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


def clean(text: str) -> str:
    """Removes terminal colours from ``text`` and replaces control characters and surrogates by visible characters."""
    return _CONTROL.sub(_visible, _ANSI.sub("", text.replace("\r\n", "\n")))


def _visible(match: re.Match[str]) -> str:
    code = ord(match.group())
    return chr(0x2400 + code) if code < 0x20 else "\ufffd"


def size_label(size: int | None) -> str:
    """A message size: ``8 B``, ``64 KiB``, ``4 MiB``; a size that is no whole number of KiB is in bytes."""
    if size is None:
        return MISSING
    value, unit = size, 0
    while value and value % 1024 == 0 and unit < len(_BINARY) - 1:
        value, unit = value // 1024, unit + 1
    return f"{value}{NARROW}{_BINARY[unit]}"


def amount(count: int | None) -> str:
    """A number of bytes to three significant digits: ``1.25 MiB``."""
    if count is None:
        return MISSING
    value, unit = float(count), 0
    while value >= 1024 and unit < len(_BINARY) - 1:
        value, unit = value / 1024, unit + 1
    return f"{number(value, 3)}{NARROW}{_BINARY[unit]}"


def number(value: float | None, digits: int = 4) -> str:
    """``value`` to ``digits`` significant digits, with an exponent only for very small and very large values."""
    if value is None or not math.isfinite(value):
        return MISSING
    if isinstance(value, int) or value == 0:
        return f"{value:,.0f}".replace(",", NARROW)
    exponent = math.floor(math.log10(abs(value)))
    if not -5 <= exponent <= 9:
        return f"{value:.{digits - 1}e}"
    decimals = max(0, digits - 1 - exponent)
    text = f"{round(value, digits - 1 - exponent):,.{decimals}f}".replace(",", NARROW)
    return text.replace("-", "\u2212")


def duration(seconds: float | None, digits: int = 3) -> str:
    """A time in s, ms or µs: ``1.53 s``, ``72.0 µs``."""
    if seconds is None or not math.isfinite(seconds):
        return MISSING
    for unit, scale in (("s", 1.0), ("ms", 1e3)):
        if abs(seconds) * scale >= 1 or seconds == 0:
            return f"{number(seconds * scale, digits)}{NARROW}{unit}"
    return f"{number(seconds * 1e6, digits)}{NARROW}µs"


def tick(value: float) -> str:
    """A number on an axis, without trailing zeros."""
    text = number(value, 6)
    return text.rstrip("0").rstrip(".") if "." in text and "e" not in text else text


def interval(low: float | None, high: float | None, digits: int = 4) -> str:
    """``[low, high]``, or a dash if a limit is missing."""
    if low is None or high is None or not (math.isfinite(low) and math.isfinite(high)):
        return MISSING
    return f"[{number(low, digits)}, {number(high, digits)}]"


def percent(share: float | None, digits: int = 3) -> str:
    """A share as a percentage; a share just below 1 is ``> 99.9 %``, never ``100 %``."""
    if share is None or not math.isfinite(share):
        return MISSING
    if 0.999 <= share < 1:
        return f"> 99.9{NARROW}%"
    if 0 < share < 0.0001:
        return f"< 0.01{NARROW}%"
    return f"{number(share * 100, digits)}{NARROW}%"


def instant(seconds: float | None) -> str:
    """A point in time in UTC, to the second; ``seconds`` since 1970."""
    if seconds is None or not math.isfinite(seconds):
        return MISSING
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (OverflowError, ValueError, OSError):
        return MISSING


def unit(name: str) -> str:
    """A unit as the page writes it: µs for microseconds, × for a ratio."""
    return {"us": "µs", "ratio": "×"}.get(name, name)


def plural(count: int, one: str, many: str = "") -> str:
    """``1 node``, ``2 nodes``; ``many`` is the plural of a word that does not take an s."""
    return f"{count} {one if count == 1 else many or one + 's'}"


def enumerate_words(words: Iterable[str]) -> str:
    """``a, b and c``."""
    *front, last = [*words] or [""]
    return f"{', '.join(front)} and {last}" if front else last


def ranges(names: Iterable[str]) -> str:
    """``n1–n16, n18, login``: three or more names with consecutive last numbers become a range."""
    runs: list[list[str]] = []
    for name in sorted(set(names), key=natural):
        if runs and _follows(runs[-1][-1], name):
            runs[-1].append(name)
        else:
            runs.append([name])
    return ", ".join(f"{run[0]}–{run[-1]}" if len(run) > 2 else ", ".join(run) for run in runs)


def _follows(one: str, other: str) -> bool:
    last, this = _NUMBERED.fullmatch(one), _NUMBERED.fullmatch(other)
    if last is None or this is None or last.group(1, 3) != this.group(1, 3):
        return False
    width = len(last[2]) if last[2].startswith("0") else 0
    return this[2] == str(int(last[2]) + 1).zfill(width)


def slug(text: str) -> str:
    """``text`` as part of an anchor: lower-case letters, digits, dots, underscores and hyphens."""
    return re.sub(r"[^a-z0-9._]+", "-", text.lower()).strip("-") or "x"


def slugs(texts: Iterable[str], prefix: str) -> dict[str, str]:
    """An anchor ``prefix-slug`` for each text, unique within the page and the same in every report."""
    result: dict[str, str] = {}
    used: set[str] = set()
    for text in texts:
        if text in result:
            continue
        base = anchor = f"{prefix}-{slug(text)}"
        count = 1
        while anchor in used:
            count += 1
            anchor = f"{base}-{count}"
        used.add(anchor)
        result[text] = anchor
    return result
