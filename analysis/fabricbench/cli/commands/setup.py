# SPDX-License-Identifier: Apache-2.0
"""``fabricbench setup``."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fabricbench.cli.output import say, warn
from fabricbench.errors import BadInput, nearest

if TYPE_CHECKING:
    from fabricbench.site.stacks import Stack

OnlyStacks = Annotated[list[str] | None, typer.Argument(help="set up only these stacks")]
Again = Annotated[bool, typer.Option("--again", help="set up again from nothing")]
ForTests = Annotated[bool, typer.Option("--for-tests", help="also install what only the tests need")]
SpackViews = Annotated[
    Path | None, typer.Option(help="use the stacks of Spack's views in this directory", show_default=False)
]
Sources = Annotated[
    list[Path] | None,
    typer.Option(
        "--source",
        help="build this archive or source tree of OSU, NPB, IMB, TAU or GROMACS on the stacks that are set up, or use "
        "the programs that you built in this folder; repeatable",
        show_default=False,
    ),
]
TargetOption = Annotated[
    str | None,
    typer.Option(
        "--target",
        metavar="PROCESSOR",
        help="build the NAS kernels for this processor, a value of -march such as x86-64-v3 or native; by default that "
        "of the last set-up, at first native",
        show_default=False,
    ),
]
SourceOptions = Annotated[
    list[str] | None,
    typer.Option("--option", help="a setting of a source build, PACKAGE.NAME=VALUE; repeatable", show_default=False),
]
PrefixOption = Annotated[
    Path | None,
    typer.Option(
        "--prefix",
        metavar="DIRECTORY",
        help="use the MPI library that is installed in this directory for the one named stack",
        show_default=False,
    ),
]
ModuleOption = Annotated[
    str | None,
    typer.Option(
        "--module",
        metavar="NAME[,NAME]",
        help="use the MPI library of these environment modules for the one named stack; its jobs load them",
        show_default=False,
    ),
]
Packages = Annotated[
    bool, typer.Option("--packages", help="use packages again for stacks that had --prefix or --module before")
]


def setup(
    stack: OnlyStacks = None,
    again: Again = False,
    for_tests: ForTests = False,
    spack: SpackViews = None,
    source: Sources = None,
    option: SourceOptions = None,
    target: TargetOption = None,
    prefix: PrefixOption = None,
    module: ModuleOption = None,
    packages: Packages = False,
) -> None:
    """Finds or installs the MPI stacks and builds the benchmarks on each.

    The command can be repeated: it skips what is set up already.
    """
    if (prefix is not None or module is not None or packages) and (source or spack is not None):
        other = "--source" if source else "--spack"
        raise BadInput(f"--prefix, --module and --packages are not for {other}", hint="set the stack up first")
    if source:
        if target is not None:
            raise BadInput("--target is not for --source", hint="run fabricbench setup --target PROCESSOR first")
        _set_up_sources(stack, source, option or [], spack=spack, again=again or for_tests)
        return
    if option:
        raise BadInput("--option is for --source", hint="name the source too")
    if target is not None and spack is not None:
        raise BadInput("--target is not for Spack's stacks", hint="set their target in spack.yaml")
    if target == "":
        raise BadInput("--target is empty", expected="native, x86-64-v3 or another value of -march")
    from fabricbench.setup.external import chosen
    from fabricbench.setup.spack import set_up_views
    from fabricbench.setup.stacks import set_up, set_up_input
    from fabricbench.site.settings import REPOSITORY, build_root, no_blanks

    no_blanks(REPOSITORY, "the path of this checkout")
    no_blanks(build_root(), "the path of the build directory")
    stacks = _selection(stack, spack)
    if spack is not None:
        problems = set_up_views(stacks, spack.absolute(), say)
    else:
        choice = chosen(stacks, prefix, module, packages=packages)
        problems = set_up(stacks, say, again=again, for_tests=for_tests, target=target or "", choice=choice)
    for problem in problems:
        warn(f"not set up: {problem}")
    if len(problems) == len(stacks):
        raise BadInput("no stack could be set up")
    if not (spack or for_tests) and (problem := set_up_input(say)):
        warn(f"not set up: {problem}")
    say(f"set up; to call reframe and fabricbench by name: source {build_root()}/env.sh")


def _set_up_sources(
    names: list[str] | None, paths: list[Path], options: list[str], *, spack: Path | None, again: bool
) -> None:
    """Builds the user's sources on the stacks that are set up; exit status 2 if nothing could be built."""
    from fabricbench.setup.sources.run import parsed_options, set_up_sources
    from fabricbench.site.settings import build_root, no_blanks, site_root
    from fabricbench.site.stacks import site_stacks

    if spack is not None or again:
        raise BadInput("--source goes with no other option than --option", hint="set the stacks up first")
    no_blanks(build_root(), "the path of the build directory")
    mpi = [stack.name for stack in site_stacks(site_root()).values() if stack.level == "mpi"]
    stacks = _selection(names or mpi, None)
    outcome = set_up_sources(stacks, paths, parsed_options(options), say, all_stacks=not names)
    for problem in outcome.problems:
        warn(f"not set up: {problem}")
    if not outcome.entered:
        raise BadInput("no source could be set up")


def _selection(names: list[str] | None, spack: Path | None) -> "list[Stack]":
    """The stacks to set up: those in ``names``, else those in Spack's views, else the usual ones.

    The usual ones are those that set-up can install, and those for which the user has chosen an installed library.
    """
    from fabricbench.setup.external import last_choice
    from fabricbench.setup.spack import views_in
    from fabricbench.site.settings import build_root, site_root
    from fabricbench.site.stacks import site_stacks

    available, homes = site_stacks(site_root()), build_root() / "stacks"
    usual = [n for n, s in available.items() if not (s.only_spack or s.on_request) or last_choice(homes / n)]
    selection = names or (views_in(spack) if spack else usual)
    for name in selection:
        if name not in available:
            raise BadInput(f"unknown stack '{name}'", expected=nearest(name, available))
    return [available[name] for name in selection]
