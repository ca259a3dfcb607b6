# SPDX-License-Identifier: Apache-2.0
"""Converts matplotlib figures to SVG. Several of them can be part of one page; the bytes are always the same."""

import io
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from xml.etree import ElementTree

import matplotlib
from matplotlib.figure import Figure

_PARAMETERS = {
    "axes.edgecolor": "#6b7280",
    "axes.labelcolor": "#374151",
    "axes.labelsize": 9.5,
    "axes.linewidth": 0.8,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.unicode_minus": True,
    "font.family": ["DejaVu Sans"],
    "font.size": 9.5,
    "grid.color": "#e5e7eb",
    "grid.linewidth": 0.7,
    "legend.frameon": False,
    "path.simplify": False,
    "text.color": "#1f2937",
    "text.parse_math": False,
    "text.usetex": False,
    "xtick.color": "#6b7280",
    "xtick.labelcolor": "#374151",
    "ytick.color": "#6b7280",
    "ytick.labelcolor": "#374151",
}

_ROUNDED = {"d", "x", "y", "width", "height", "transform"}
_LONG_NUMBER = re.compile(r"-?\d+\.\d{3,}")
_REFERENCE = re.compile(r"url\(#([^)]*)\)")


@contextmanager
def drawing(salt: str, outlines: bool = False) -> Iterator[None]:
    """Sets matplotlib's parameters for one figure, whatever the user's own parameters are.

    ``salt``: seed of the ids in the figure; ``outlines``: draw letters as shapes, for a file without the page's fonts.
    """
    with matplotlib.rc_context(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        matplotlib.rcdefaults()
        kind = "path" if outlines else "none"
        settings: Any = _PARAMETERS | {"svg.hashsalt": salt, "svg.fonttype": kind}
        matplotlib.rcParams.update(settings)
        yield


def standalone(figure: Figure, white: bool = False) -> str:
    """The figure as an SVG file without date and creator, on a ``white`` or a transparent background."""
    target = io.BytesIO()
    nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    figure.savefig(target, format="svg", metadata=nothing, transparent=not white)
    return target.getvalue().decode()


def inline(figure: Figure, key: str, title: str, description: str) -> str:
    """The figure as an ``svg`` element with a title and a description for screen readers.

    All ids begin with ``key``, so that figures of one page never share an id; ids without a reference are removed.
    Coordinates have two decimals of 1/72 inch.
    """
    root = _tree(figure, key)
    root.attrib |= {"role": "img", "aria-labelledby": f"{key}-title {key}-desc"}
    root[:0] = [_text("title", f"{key}-title", title), _text("desc", f"{key}-desc", description)]
    return ElementTree.tostring(root, encoding="unicode")


def hidden(figure: Figure, key: str) -> str:
    """The figure as an ``svg`` element that screen readers skip, at its natural size."""
    root = _tree(figure, key)
    width, height = root.attrib["viewBox"].split()[2:]
    root.attrib |= {"aria-hidden": "true", "width": width, "height": height}
    return ElementTree.tostring(root, encoding="unicode")


def _tree(figure: Figure, key: str) -> ElementTree.Element:
    root = ElementTree.fromstring(standalone(figure))
    for parent in root.iter():
        for child in list(parent):
            if child.tag.endswith("}metadata"):
                parent.remove(child)
    used = _references(root)
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
        element.attrib = dict(_attributes(element, key, used))
    root.attrib = {"viewBox": root.attrib["viewBox"]}
    return root


def _references(root: ElementTree.Element) -> set[str]:
    """The ids to which an element of the figure refers."""
    used = set()
    for element in root.iter():
        for name, value in element.attrib.items():
            used.update(_REFERENCE.findall(value))
            if name.endswith("href") and value.startswith("#"):
                used.add(value[1:])
    return used


def _attributes(element: ElementTree.Element, key: str, used: set[str]) -> Iterator[tuple[str, str]]:
    for qualified, value in element.attrib.items():
        name = qualified.rpartition("}")[2]
        if name == "id":
            if value in used:
                yield "id", f"{key}-{value}"
        elif name == "href":
            yield "href", f"#{key}-{value[1:]}"
        elif name in _ROUNDED:
            yield name, _LONG_NUMBER.sub(_rounded, value)
        else:
            yield name, _REFERENCE.sub(rf"url(#{key}-\1)", value)


def _rounded(match: re.Match[str]) -> str:
    text = f"{float(match.group()):.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def _text(tag: str, name: str, text: str) -> ElementTree.Element:
    element = ElementTree.Element(tag, {"id": name})
    element.text = text
    return element
