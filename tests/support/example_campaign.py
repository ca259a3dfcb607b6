# SPDX-License-Identifier: Apache-2.0
"""Packs a campaign as an example: only its facts, without paths. Arguments: campaign, archive, blocks."""

import io
import re
import sys
import tarfile
from pathlib import Path

from support.fake_site import REPOSITORY

PREFIX = "/opt/fabricbench"
_OMITTED = re.compile(r"\.rfm_.*|rfm_job\..*|sizes")
"""ReFrame's own files, and lists of sizes."""


def pack(campaign: Path, archive: Path, blocks: int) -> None:
    """Writes the first blocks of a campaign as an archive; the same campaign gives the same bytes.

    The path of the repository becomes ``/opt/fabricbench``, that of the campaign ``/opt/fabricbench/campaigns/NAME``,
    and the kernel's release loses its local suffix and its command line.
    """
    with tarfile.open(archive, "w:xz", preset=9) as target:
        for file in [campaign / "campaign.json", *sorted((campaign / "launches").rglob("*"))]:
            name = file.relative_to(campaign)
            if file.is_file() and not _OMITTED.fullmatch(file.name) and _block(name) < blocks:
                content = _anonymous(file.read_text(errors="surrogateescape"), campaign)
                data = content.encode(errors="surrogateescape")
                entry = tarfile.TarInfo(str(name))
                entry.size = len(data)
                target.addfile(entry, io.BytesIO(data))


def _block(name: Path) -> int:
    match = re.match(r"launches/b(\d+)", str(name))
    return int(match[1]) if match else 0


def _anonymous(text: str, campaign: Path) -> str:
    text = text.replace(str(campaign.resolve()), f"{PREFIX}/campaigns/{campaign.name}")
    text = text.replace(str(REPOSITORY), PREFIX)
    text = re.sub(r'("kernel": ?"[0-9.]+)[^"]*"', r'\1"', text)
    return re.sub(r'("kernel_command_line": ?)"[^"]*"', r'\1""', text)


if __name__ == "__main__":
    pack(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))
