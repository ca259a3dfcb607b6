# SPDX-License-Identifier: Apache-2.0
"""Executes the Python files of a site, each version of a file once per process."""

import traceback
from functools import cache
from pathlib import Path
from types import ModuleType

from fabricbench.errors import BadInput


def execute(file: Path) -> dict[str, object]:
    """Executes a Python file and returns its global names.

    A second call for a file with the same content returns the same names without executing it again. Raises BadInput
    with the file, and the line if there is one, if the file is missing or fails.
    """
    try:
        source = file.read_bytes()
    except FileNotFoundError:
        raise BadInput("no such file", where=str(file)) from None
    except OSError as error:
        raise BadInput(f"cannot be read: {error.strerror}", where=str(file)) from None
    return _executed(file, source)


@cache
def _executed(file: Path, source: bytes) -> dict[str, object]:
    module = ModuleType(f"fabricbench_site_{file.parent.name}_{file.stem}")
    module.__file__ = str(file)
    try:
        exec(compile(source, str(file), "exec"), module.__dict__)
    except BadInput:
        raise
    except SyntaxError as error:
        raise BadInput(error.msg, where=f"{error.filename}:{error.lineno}", expected="Python") from None
    except (Exception, SystemExit) as error:
        frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(file)]
        line = f":{frames[-1].lineno}" if frames else ""
        raise BadInput(f"{type(error).__name__}: {error}", where=f"{file}{line}") from None
    return module.__dict__
