# SPDX-License-Identifier: Apache-2.0
"""The doctor reports wrong names and keys in a site's settings."""

import pytest

from doctor.synthetic_site import GOOD, Site, texts


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            'name="mine",\n',
            'name="mime",\n',
            "the system is called 'mime'; expected 'mine', the name of its folder",
        ),
        (GOOD, GOOD * 2, "duplicate fabric 'gige'; remove one of them"),
        (
            '    stacks=["one", "two"]',
            '    stacks=["one", "two", "two"]',
            "duplicate stack 'two'; remove one of them",
        ),
        (
            'STACKS = ["one"',
            'STACKS = ["one", "one"',
            "fabric gige names the stack 'one' twice; remove one of them",
        ),
        ('slurm("gige"', 'slurm("gi ge"', "the fabric 'gi ge'; expected letters, digits, '_' and '-' only"),
    ],
)
def test_wrong_names_in_the_settings(site: Site, old: str, new: str, message: str) -> None:
    file = site()
    assert old in file.read_text()
    file.write_text(file.read_text().replace(old, new))
    assert message in texts("broken")
    assert texts("not checked") == ["what the fabrics need of the cluster, until the file is correct"]


def test_a_stack_of_a_fabric_that_the_system_lacks(site: Site) -> None:
    file = site()
    file.write_text(file.read_text().replace('STACKS = ["one"', 'STACKS = ["ome"'))
    assert "fabric gige names the stack 'ome'; expected one" in texts("broken")
    assert texts("not checked") == ["the rest of the file, because it cannot be loaded"]


def test_unknown_keys_are_found_by_reframes_schema(site: Site) -> None:
    file = site()
    with file.open("a") as stream:
        stream.write('site_configuration["systems"][0]["colour"] = 1\nsite_configuration["modes"] = 2\n')
    first, second = texts("broken")
    assert first.startswith("systems.0: ")
    assert "'colour' was unexpected" in first
    assert second.startswith("modes: ")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("site_configuration = {}", "site_configuration is missing or wrong; expected site_configuration = reframe"),
        ("site_configuration = 3", "site_configuration is missing or wrong"),
        ('site_configuration["systems"].append(3)', "site_configuration is missing or wrong"),
        ('site_configuration["systems"][0]["partitions"][0]["extras"] = {}', "site_configuration is missing or wrong"),
        ('site_configuration["environments"][0]["extras"] = {}', "site_configuration is missing or wrong"),
        ("SYSTEM = 3", "SYSTEM is missing or wrong; expected SYSTEM = System(…)"),
        ("Fabric(name='a', colour=3)", "TypeError: Fabric.__init__() got an unexpected keyword argument 'colour'"),
        ("1 / 0", "ZeroDivisionError"),
    ],
)
def test_settings_that_define_no_site(site: Site, text: str, message: str) -> None:
    file = site()
    with file.open("a") as stream:
        stream.write(f"{text}\n")
    (problem,) = [line for line in texts("broken") if "requirements" not in line]
    assert message in problem
    assert any("cannot be loaded" in line for line in texts("not checked"))
