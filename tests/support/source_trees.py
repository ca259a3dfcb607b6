# SPDX-License-Identifier: Apache-2.0
"""Small source trees that have the marks of a package, and build descriptions for them. Their contents are our own."""

import os
from pathlib import Path

from support.fake_site import FakeSite

MARKS = {
    "osu": {
        "configure.ac": "AC_INIT([OSU-Micro-Benchmarks], [{version}], [nobody])\n",
        "Makefile.am": "",
    },
    "npb": {
        "sys/setparams.c": '/* parameters */\n#define VERSION "{version}"\n',
        "sys/make.common": "",
        "IS/is.c": "",
        "MPI_dummy/README": "",
    },
    "imb": {
        "src_c/IMB_g_info.c": 'char* VERSION="2018";\nchar* VERSION="{version}";\n',
        "src_cpp/MPI1/README": "",
        "Makefile": "",
    },
    "tau": {
        "include/TAU.h.default": '#define TAU_VERSION "{version}"\n',
        "configure": "",
        "Makefile.skel": "",
    },
    "gromacs": {
        "CMakeLists.txt": "cmake_minimum_required(VERSION 3.28)\nproject(Gromacs VERSION {version})\n",
        "cmake/gmxVersionInfo.cmake": "",
        "src/gromacs/README": "",
    },
}
"""The files by which a package is recognised."""

OSU_SCRIPT = """\
#!/bin/sh
# build.sh PREFIX FLAGS: stands for configure, make and make install
[ ! -e broken ] || { echo "osu_latency.c:7: error: expected ';'" >&2; exit 1; }
folder=$1/libexec/osu-micro-benchmarks
mkdir -p "$folder"
printf '#!/bin/sh\\n# OSU MPI Fake Test v%s\\n# flags %s\\n' "$(cat version)" "$2" > "$folder/osu_latency"
chmod +x "$folder/osu_latency"
echo built >> "$FABRICBENCH_TEST_BUILDS"
"""

OSU_DESCRIPTION = """\
needs: [mpicc]
options:
  cflags: {default: -O3, help: compiler options}
steps:
  - run: [sh, build.sh, "{prefix}", "{cflags}"]
provides: ["libexec/*/osu_latency"]
"""

NPB_SCRIPT = """\
#!/bin/sh
# make.sh KERNEL CLASS: stands for make KERNEL CLASS=C
. config/make.def
mkdir -p bin
"$compiler" --version > /dev/null || exit 1
echo "$flags" > "bin/$1.$2.x"
"""

NPB_DESCRIPTION = """\
needs: [mpicc]
options:
  classes: {default: "S W", help: the classes}
  flags: {default: -O3 -march=native, help: compiler options}
compiler_flags:
  known: {compiler: mpicc, flag: -fno-common}
  unknown: {compiler: mpicc, flag: -fno-such-flag}
files:
  config/make.def: |
    compiler={mpicc}
    flags="{flags} {known} {unknown}"
steps:
  - run: [sh, make.sh, "{kernel}", "{class}"]
    each: {kernel: is cg, class: "{classes}"}
install:
  - {files: bin/*.x, to: bin}
provides: ["bin/is.?.x"]
"""


def make_tree(folder: Path, package: str, version: str) -> Path:
    """Writes a source tree of a package and returns it."""
    for name, text in MARKS[package].items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text.replace("{version}", version))
    scripts = {"osu": ("build.sh", OSU_SCRIPT), "npb": ("make.sh", NPB_SCRIPT)}
    if package in scripts:
        name, text = scripts[package]
        (folder / name).write_text(text)
    (folder / "version").write_text(version)
    return folder


def describe(site: FakeSite) -> None:
    """Writes the build descriptions of the trees into a site, and gives its stacks a compiler."""
    (site.root / "site/sources").mkdir()
    (site.root / "site/sources/osu.yaml").write_text(OSU_DESCRIPTION)
    (site.root / "site/sources/npb.yaml").write_text(NPB_DESCRIPTION)
    for name in ("one", "two"):
        compiler = site.stack(name) / "prefix/bin/mpicc"
        compiler.write_text('#!/bin/sh\nexec cc "$@"\n')
        compiler.chmod(0o755)
    site.environment["FABRICBENCH_TEST_BUILDS"] = str(site.root / "builds")


def builds(site: FakeSite) -> int:
    """Returns the number of builds of the OSU tree so far."""
    file = site.root / "builds"
    return len(file.read_text().splitlines()) if os.path.exists(file) else 0
