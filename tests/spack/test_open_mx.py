# SPDX-License-Identifier: Apache-2.0
"""Applies the script for Open-MX's driver to a tree that has the same identifiers, the same number of times."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "patches" / "open-mx-1.5.4-linux-6.py"
DRIVER = {
    "check_kernel_headers.sh": "# setup_timer\necho setup_timer\ngrep setup_timer timer.h\n",
    "Kbuild.in": "@FLAGS@ += -include @abs_top_builddir@/driver/linux/omx_checks.h\n"
    "@FLAGS@ += -include @abs_top_builddir@/driver/linux/omx_debug.h\n",
    "omx_main.c": "struct timer_list first;\n" * 4
    + "setup_timer(&first, expired, 0);\n" * 4
    + "mod_timer(&first, 1); /* mod_timer() */\n" * 15
    + "del_timer(&first);\ndel_timer_sync(&a->b);\ndel_singleshot_timer_sync(&first);\n"
    + "omx_mod_timer_pending(&a->b,\n"
    + "int set(const char *text, struct kernel_param *parameter);\n" * 6
    + "#ifdef CONFIG_MMU_NOTIFIER\n#endif /* CONFIG_MMU_NOTIFIER */\n" * 7
    + "#include <asm/uaccess.h>\n" * 2,
    "omx_reg.c": "\tdown_read(&current->mm->mmap_sem);\n" + "\tup_read(&current->mm->mmap_sem);\n" * 2,
    "omx_iface.c": "ifp->ethtool_ops->get_coalesce(ifp, &values);\n",
}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    folder = tmp_path / "driver" / "linux"
    folder.mkdir(parents=True)
    for name, text in DRIVER.items():
        (folder / name).write_text(text)
    return tmp_path


def contents(tree: Path) -> dict[str, str]:
    return {file.name: file.read_text() for file in (tree / "driver" / "linux").iterdir()}


def change(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([sys.executable, SCRIPT, *arguments], capture_output=True, text=True, check=False)


def test_the_driver_uses_the_interface_of_linux_6(tree: Path) -> None:
    assert change(str(tree)).returncode == 0
    files = contents(tree)
    main = files["omx_main.c"]
    assert main.count("struct omx_timer first;") == 4
    assert main.count("mod_timer(&first.timer, 1); /* mod_timer() */") == 15
    assert "del_timer_sync(&a->b.timer);" in main
    assert "omx_mod_timer_pending(&a->b.timer,\n" in main
    assert main.count("const struct kernel_param *parameter") == 6
    assert "setup_timer(" not in main.replace("omx_timer_setup(", "")
    assert "mmap_sem" not in files["omx_reg.c"]
    assert main.count("#if 0\n#endif") == 7
    assert files["omx_iface.c"] == "omx_get_coalesce(ifp, &values);\n"
    assert files["Kbuild.in"].endswith("omx_debug.h\n@FLAGS@ += -include @abs_srcdir@/omx_linux_6.h\n")
    assert "timer_setup(&timer->timer" in files["omx_linux_6.h"]


def test_a_changed_tree_is_left_as_it_is(tree: Path) -> None:
    change(str(tree))
    once = contents(tree)
    again = change(str(tree))
    assert again.returncode == 0
    assert "changed already" in again.stdout
    assert contents(tree) == once


def test_another_source_is_refused_and_unchanged(tree: Path) -> None:
    file = tree / "driver" / "linux" / "omx_main.c"
    file.write_text(file.read_text().replace("setup_timer(", "timer_setup(", 1))
    before = contents(tree)
    result = change(str(tree))
    assert result.returncode == 2
    assert "3 places, expected 4; is it Open-MX 1.5.4?" in result.stderr
    assert contents(tree) == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [((), "expected one argument"), (("nowhere",), "nowhere/driver/linux/omx_main.c: no such")],
)
def test_wrong_arguments(arguments: tuple[str, ...], message: str) -> None:
    result = change(*arguments)
    assert result.returncode == 2
    assert message in result.stderr
