# SPDX-License-Identifier: Apache-2.0
"""Reads and writes the list of nodes that were taken out of a campaign."""

import time
from pathlib import Path

from fabricbench.errors import BadInput
from fabricbench.files.layout import REMOVED
from fabricbench.files.reading import read_regular
from fabricbench.files.writing import write_json
from fabricbench.launch.record import RemovedNode, RemovedNodes


def read_removed(path: Path) -> tuple[RemovedNode, ...]:
    """Returns the nodes that were taken out of the campaign at ``path``; raises BadInput for a malformed list."""
    file = path / REMOVED
    try:
        return RemovedNodes.model_validate_json(read_regular(file)).removed
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise BadInput(f"cannot be read: {error.strerror}", where=str(file)) from None
    except ValueError:
        raise BadInput("not a list of removed nodes", where=str(file), hint="see docs/formats.md") from None


def remove_nodes(path: Path, nodes: tuple[str, ...], because: str, block: int) -> None:
    """Adds ``nodes`` to the list of the campaign at ``path``; a node that is in it keeps its first entry."""
    earlier = read_removed(path)
    known = {one.node for one in earlier}
    new = [
        RemovedNode(node=node, because=because, block=block, time=time.time()) for node in nodes if node not in known
    ]
    if new:
        write_json(path / REMOVED, RemovedNodes(removed=(*earlier, *new)).model_dump(mode="json"))
