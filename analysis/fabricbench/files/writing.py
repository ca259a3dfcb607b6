# SPDX-License-Identifier: Apache-2.0
"""Writes files completely or not at all."""

import contextlib
import json
import os
from pathlib import Path
from typing import Any

from fabricbench.errors import BadInput


def write_json(file: Path, value: Any, *, sync: bool = True) -> None:
    """Writes ``value`` as JSON to ``file``, atomically; raises BadInput if the file cannot be written.

    ``sync`` waits until the disk has the content; without it, a crash of the machine may leave the file empty.
    """
    text = json.dumps(value, indent=1, sort_keys=True)
    temporary = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        temporary.unlink(missing_ok=True)
        with temporary.open("x", encoding="utf-8") as stream:
            stream.write(text)
            stream.flush()
            if sync:
                os.fsync(stream.fileno())
        temporary.replace(file)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise BadInput(
            f"cannot be written: {error.strerror}",
            where=str(file),
            hint="no data are lost: free space and run again",
        ) from None
