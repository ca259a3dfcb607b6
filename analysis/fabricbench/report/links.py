# SPDX-License-Identifier: Apache-2.0
"""Links from the page to its rows of launches and to the directories of launches."""

from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import quote

from fabricbench.files.layout import LAUNCHES
from fabricbench.launch.record import Campaign, Record
from fabricbench.report.formatting import slugs


@dataclass(frozen=True, slots=True)
class Link:
    """A link to the row of a launch. ``label``: ``block.position``; ``anchor``: empty for an unknown launch."""

    label: str
    anchor: str


class Launches:
    """The launches of a campaign, found by their directory or id.

    ``base``: path from the page's directory to the campaign's directory, empty if they are the same.
    """

    def __init__(self, campaign: Campaign, base: str = "") -> None:
        self._base = base
        self._anchors = slugs((record.directory for record in campaign.records), "launch")
        self._by_name = {r.launch.id: r for r in reversed(campaign.records) if r.launch is not None}
        self._by_name |= {record.directory: record for record in campaign.records}

    def anchor(self, record: Record) -> str:
        """The anchor of a launch's row, unique within the page."""
        return self._anchors[record.directory]

    @staticmethod
    def path(record: Record) -> str:
        """The path of a launch's directory within the campaign."""
        return f"{LAUNCHES}/{record.directory}"

    def href(self, record: Record) -> str:
        """The relative URL of a launch's directory. A name with a colon does not become a scheme."""
        path = f"{self._base}/{self.path(record)}" if self._base else self.path(record)
        address = quote(path.encode("utf-8", "replace"), safe="/")
        return address if address.startswith((".", "/")) else f"./{address}"

    def link(self, name: str) -> Link:
        """A link to the launch with this directory or id."""
        record = self._by_name.get(name)
        return Link(name, "") if record is None else self.to(record)

    def to(self, record: Record) -> Link:
        """A link to the launch of a record."""
        launch = record.launch
        label = record.directory if launch is None else f"{launch.block}.{launch.position}"
        return Link(label, self.anchor(record))

    def links(self, records: Iterable[Record]) -> tuple[Link, ...]:
        """Links to the launches of several records, in the same order."""
        return tuple(self.to(record) for record in records)
