# SPDX-License-Identifier: Apache-2.0
"""Checks the structure of spack.yaml, recipes, patches and sites. ``make spack-check`` concretizes them."""

import ast
import os
import re
import subprocess
from pathlib import Path

import pytest

from fabricbench.errors import BadInput
from fabricbench.site.settings import REPOSITORY
from fabricbench.site.spack import SITE_STACKS, Environment, chosen_stacks, read_environment
from fabricbench.site.stacks import site_stacks

RECIPES = sorted((REPOSITORY / "spack_repo/fabricbench/packages").glob("*/package.py"))
SITES = sorted((REPOSITORY / "site").glob(f"*/spack/{SITE_STACKS}"))
BUILTIN = {
    "mvapich2", "mvapich", "openmpi", "mpich", "libfabric", "ucx",
    "intel-mpi-benchmarks", "osu-micro-benchmarks", "npb", "gromacs", "tau",
}  # fmt: skip
"""Packages of Spack's own that spack.yaml names; ``make spack-check`` tries them."""


@pytest.fixture(scope="module")
def environment() -> Environment:
    return read_environment(REPOSITORY / "spack.yaml")


def package_name(recipe: Path) -> str:
    return recipe.parent.name.replace("_", "-")


def test_every_stack_that_only_spack_builds_is_in_spack_yaml(environment: Environment) -> None:
    stacks = site_stacks(REPOSITORY / "site")
    assert set(environment.stacks) <= set(stacks)
    assert {name for name, stack in stacks.items() if stack.only_spack} <= set(environment.stacks)


def test_every_package_has_a_recipe(environment: Environment) -> None:
    own = {package_name(recipe) for recipe in RECIPES}
    specs = [*(stack.spec for stack in environment.stacks.values()), *environment.benchmarks]
    names = {re.split(r"[@ +~%]", part)[0] for spec in specs for part in spec.split("^")}
    assert names <= BUILTIN | own
    assert {"fabricbench", "mpich-mx", "open-mx"} <= own


def test_every_stack_has_its_own_view(environment: Environment) -> None:
    stacks = environment.stacks.values()
    assert len({stack.view for stack in stacks}) == len(environment.stacks)
    assert len({(stack.package, stack.variant, stack.value) for stack in stacks}) == len(environment.stacks)


def test_the_benchmarks_are_those_of_the_checks(environment: Environment) -> None:
    names = {re.split(r"[@ +~]", spec)[0] for spec in environment.benchmarks}
    assert names == {"fabricbench", "intel-mpi-benchmarks", "osu-micro-benchmarks", "npb", "gromacs", "tau"}
    assert "+profileparam" in " ".join(environment.benchmarks)


@pytest.mark.parametrize("recipe", RECIPES, ids=package_name)
def test_a_recipe_compiles_and_has_the_name_that_spack_expects(recipe: Path) -> None:
    tree = ast.parse(recipe.read_text())
    compile(tree, str(recipe), "exec")
    classes = [item.name for item in tree.body if isinstance(item, ast.ClassDef)]
    assert classes == ["".join(word.capitalize() for word in package_name(recipe).split("-"))]


def test_a_recipe_names_every_patch() -> None:
    recipes = "".join(recipe.read_text() for recipe in RECIPES)
    patches = [file for file in (REPOSITORY / "patches").iterdir() if file.suffix in (".patch", ".py")]
    assert patches
    for patch in patches:
        assert patch.name in recipes


@pytest.mark.parametrize("file", SITES, ids=lambda file: file.parents[1].name)
def test_a_site_chooses_stacks_of_spack_yaml(file: Path, environment: Environment) -> None:
    assert set(chosen_stacks(file, environment)) <= set(environment.stacks)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("- $mpich-tcp", "- $mpich-tpc", "'mpich-tpc' is not a stack of"),
        ("    mpich-mx: {root: build/views/mpich-mx, select: [mpich-mx, ^mpich-mx]}\n", "", "no view of the stack"),
        ("    - mpich-mx: [mpich-mx@3.1.4]\n", "", "the view 'mpich-mx' belongs to no stack"),
        ("select: [mvapich2, ^mvapich2]", "select: [mvapich2]", "the view mvapich2 selects mvapich2"),
        ("select: [mvapich2, ^mvapich2]", "select: [mpich, ^mpich]", "the view mvapich2 selects mpich"),
        (
            "mvapich2: [mvapich2@2.3.7-1 fabrics=mrail]",
            "mvapich2: [mvapich2, tau]",
            "one spec, quoted if it has commas",
        ),
        ("  concretizer:", "  concretiser:", "unknown key 'concretiser'"),
        ("  specs:", "  specs: &all", None),
    ],
)
def test_a_wrong_spack_yaml_prints_one_line(tmp_path: Path, old: str, new: str, message: str | None) -> None:
    text = (REPOSITORY / "spack.yaml").read_text()
    assert text.count(old) == 1
    file = tmp_path / "spack.yaml"
    file.write_text(text.replace(old, new))
    if message is None:
        read_environment(file)
        return
    with pytest.raises(BadInput, match=re.escape(message)) as error:
        read_environment(file)
    assert re.match(rf"{re.escape(str(file))}:\d+: ", str(error.value))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("definitions:\n  - stacks: [$mpisch]\n", "stacks.yaml:2: 'mpisch' is not a stack of"),
        ("packages: {}\n", "stacks.yaml:1: no definition 'stacks'"),
        ("definitions:\n  - stacks: []\n", "stacks.yaml:2: stacks is an empty list"),
    ],
)
def test_a_wrong_choice_of_a_site_is_reported_with_its_place(
    tmp_path: Path, text: str, message: str, environment: Environment
) -> None:
    file = tmp_path / SITE_STACKS
    file.write_text(text)
    with pytest.raises(BadInput, match=re.escape(message)):
        chosen_stacks(file, environment)


def test_spack_reads_it(environment: Environment) -> None:
    if not os.environ.get("SPACK_ROOT"):
        pytest.skip("the solve was not tried: make spack-check with SPACK_ROOT set tries it")
    spack = [f"{os.environ['SPACK_ROOT']}/bin/spack", "-e", str(REPOSITORY)]
    place = {name: value for name, value in os.environ.items() if name != "FABRICBENCH_SYSTEM"}
    result = subprocess.run([*spack, "find", "-c"], env=place, capture_output=True, text=True, check=False)
    assert f"{len(environment.stacks) * len(environment.benchmarks)} root specs" in result.stdout, result.stderr
