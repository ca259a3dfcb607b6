# SPDX-License-Identifier: Apache-2.0
"""Writes files whole or not at all."""

import contextlib
import json
import os
from pathlib import Path
from typing import Any

from fabricbench.errors import BadInput


def write_json(file: Path, value: Any) -> None:
    """Write ``value`` as JSON to ``file``, atomically; BadInput where the place cannot take it."""
    temporary = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        temporary.unlink(missing_ok=True)
        with temporary.open("x", encoding="utf-8") as stream:
            json.dump(value, stream, indent=1, sort_keys=True)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(file)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise BadInput(
            f"cannot be written: {error.strerror}",
            where=str(file),
            hint="nothing is lost: make room and run again",
        ) from None
