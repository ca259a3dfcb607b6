# SPDX-License-Identifier: Apache-2.0
"""Every launch's place in the page and on disk, by whatever name it is called."""

from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import quote

from fabricbench.files.layout import LAUNCHES
from fabricbench.launch.record import Campaign, Record
from fabricbench.report.words import slugs


@dataclass(frozen=True, slots=True)
class Link:
    """``label`` is short (block.position); ``anchor`` is empty for a launch that the campaign lacks."""

    label: str
    anchor: str


class Launches:
    """The launches of a campaign: anchors by directory or id, and links to their directories.

    ``base`` is the way from the report's place to the campaign's directory, empty where they are the same.
    """

    def __init__(self, campaign: Campaign, base: str = "") -> None:
        self._base = base
        self._anchors = slugs((record.directory for record in campaign.records), "launch")
        self._by_name = {r.launch.id: r for r in reversed(campaign.records) if r.launch is not None}
        self._by_name |= {record.directory: record for record in campaign.records}

    def anchor(self, record: Record) -> str:
        """The launch's anchor, unique within the page."""
        return self._anchors[record.directory]

    @staticmethod
    def path(record: Record) -> str:
        """The launch's directory within the campaign; a record names it within the campaign's launches."""
        return f"{LAUNCHES}/{record.directory}"

    def href(self, record: Record) -> str:
        """The launch's directory as a relative address: never one with a scheme, whatever its name."""
        path = f"{self._base}/{self.path(record)}" if self._base else self.path(record)
        address = quote(path.encode("utf-8", "replace"), safe="/")
        return address if address.startswith((".", "/")) else f"./{address}"

    def link(self, name: str) -> Link:
        """A link to the launch of this directory or id."""
        record = self._by_name.get(name)
        return Link(name, "") if record is None else self.to(record)

    def to(self, record: Record) -> Link:
        """A link to a record."""
        launch = record.launch
        label = record.directory if launch is None else f"{launch.block}.{launch.position}"
        return Link(label, self.anchor(record))

    def links(self, records: Iterable[Record]) -> tuple[Link, ...]:
        """Links to records, in their order."""
        return tuple(self.to(record) for record in records)
