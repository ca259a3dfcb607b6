#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Makes the project's virtual environment: venv.sh PYTHON DIRECTORY PACKAGE, where PACKAGE is "." or ".[dev]"
set -eu
python=$1
venv=$2
package=$3

fail() {
    echo "fabricbench: $1" >&2
    exit 2
}

unsafe='[]["'"'"'[:space:]\\$`&;|<>(){}*?!#:^]'
# shellcheck disable=SC2254 # a pattern
case $PWD in
*$unsafe*) fail "this checkout is in '$PWD'; move it to a path without blanks, quotes and special characters" ;;
esac
command -v "$python" >/dev/null || fail "no $python; install Python 3.11 or newer, on Debian: apt-get install python3"
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
    fail "$("$python" --version) is too old; Python 3.11 or newer is needed: make run PYTHON=python3.12"

if ! "$venv/bin/python" -c 'import pip' 2>/dev/null; then
    rm -rf "$venv"
    if ! "$python" -m venv "$venv" >/dev/null 2>&1; then
        rm -rf "$venv"
        if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
            echo "installing Debian's python3-venv"
            apt-get update -qq >/dev/null
            DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends python3-venv >/dev/null
            "$python" -m venv "$venv"
        else
            fail "$python cannot make a virtual environment; on Debian: apt-get install python3-venv"
        fi
    fi
fi
echo "installing the Python packages into $venv"
# The pip of Debian 12 takes minutes for the dependencies, a newer one seconds. Python compiles a module at its first
# import; without --no-compile pip would compile all modules, for 20 s of processor time.
"$venv/bin/python" -m pip install -q --disable-pip-version-check 'pip>=24.2'
"$venv/bin/python" -m pip install -q --no-compile -e "$package"
