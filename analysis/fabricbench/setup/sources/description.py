# SPDX-License-Identifier: Apache-2.0
"""The build description of a package, ``site/sources/<package>.yaml``: its options, its commands, its results."""

import itertools
import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from fabricbench.errors import BadInput, nearest
from fabricbench.files.yaml_lines import read
from fabricbench.site.settings import REPOSITORY, site_root

FOLDER = "sources"
"""The folder of build descriptions in the directory of sites."""
COMPILERS = ("mpicc", "mpicxx", "mpif90")
_NAME = re.compile(r"\{([a-z][a-z0-9_]*)\}")


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Option(_Model):
    """A setting of a build, such as the classes of NPB. ``help`` says what it is."""

    default: str
    help: str


class CompilerFlag(_Model):
    """A flag that is used where a compiler accepts it, and is empty elsewhere."""

    compiler: str
    flag: str


class Generated(_Model):
    """Files of a release that a checkout lacks: ``command`` writes ``file``, and needs the programs ``tools``."""

    file: str
    command: tuple[str, ...] = Field(min_length=1)
    tools: tuple[str, ...] = ()


class Step(_Model):
    """A command in the copied tree, in its ``folder``.

    ``each``: words by name; the command runs once for every combination.
    """

    run: tuple[str, ...] = Field(min_length=1)
    folder: str = "."
    environment: dict[str, str] = {}
    each: dict[str, str] = {}


class Copied(_Model):
    """Files that a build leaves in the tree: those that match ``files`` belong into the folder ``to`` of the prefix."""

    files: str
    to: str


class Description(_Model):
    """How a package is built. Texts may contain ``{name}``: see ``values``.

    ``needs``: the MPI compilers that the stack must have. ``files``: texts to write into the tree, by path.
    ``products``: patterns of the names of files that an earlier build left in the tree; they are not copied.
    ``install``: files to copy into the prefix after the steps. ``provides``: patterns of files that it has then.
    """

    needs: tuple[str, ...] = ("mpicc",)
    options: dict[str, Option] = {}
    compiler_flags: dict[str, CompilerFlag] = {}
    generated: Generated | None = None
    files: dict[str, str] = {}
    steps: tuple[Step, ...] = Field(min_length=1)
    products: tuple[str, ...] = ()
    install: tuple[Copied, ...] = ()
    provides: tuple[str, ...] = Field(min_length=1)


def description_file(package: str) -> Path:
    """Returns the path of a package's build description: in the directory of sites, or else in this project's."""
    own = site_root() / FOLDER / f"{package}.yaml"
    return own if own.exists() else REPOSITORY / "site" / FOLDER / f"{package}.yaml"


def read_description(package: str) -> Description:
    """Returns the build description of a package. Raises BadInput if it is not valid."""
    root = read(description_file(package))
    root.mapping("a build description", Description.model_fields)
    try:
        return Description.model_validate(root.value)
    except ValidationError as error:
        first = error.errors()[0]
        place = root.descendant([key for key in first["loc"] if isinstance(key, str | int)])
        key = ".".join(map(str, first["loc"]))
        raise BadInput(f"{key}: {first['msg']}", where=place.where) from None


def chosen_options(description: Description, package: str, chosen: Mapping[str, str]) -> dict[str, str]:
    """Returns the value of every option of a package, given those that the user has chosen.

    Raises BadInput for an option that the package does not have.
    """
    for name in chosen:
        if name not in description.options:
            expected = nearest(name, description.options)
            raise BadInput(f"{package} has no option '{name}'", where="--option", expected=expected)
    return {name: chosen.get(name, option.default) for name, option in description.options.items()}


def filled(text: str, values: Mapping[str, str], package: str) -> str:
    """Returns a text with the ``values`` in place of ``{name}``; raises BadInput for an unknown name."""

    def value(match: re.Match[str]) -> str:
        if match[1] not in values:
            expected = nearest(match[1], values)
            raise BadInput(f"unknown name '{match[0]}'", where=str(description_file(package)), expected=expected)
        return values[match[1]]

    return _NAME.sub(value, text)


def combinations(step: Step, values: Mapping[str, str], package: str) -> Iterator[dict[str, str]]:
    """Yields the values of each run of a step: one for every combination of the words of ``each``."""
    words = [filled(text, values, package).split() for text in step.each.values()]
    for combination in itertools.product(*words):
        yield {**values, **dict(zip(step.each, combination, strict=True))}


def command_of(step: Step, values: Mapping[str, str], package: str) -> list[str]:
    """Returns the arguments of a step. An argument ``*{name}`` stands for the words of the value, as in a shell."""
    arguments: list[str] = []
    for word in step.run:
        spread = word.startswith("*{")
        text = filled(word.removeprefix("*") if spread else word, values, package)
        arguments += shlex.split(text) if spread else [text]
    return arguments
