#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs lint, and meanwhile the tests that need no stack: quick.sh DIRECTORY-OF-PROGRAMS FOLDER...
set -u
bin=$(cd "$1" && pwd) || exit 2
shift
cd "$(dirname "$0")/.." || exit 2
sh tests/lint.sh "$bin" &
lint=$!
"$bin/python" -m pytest -q -n 2 --dist loadfile "$@"
tests=$?
wait "$lint" || {
    echo "lint: FAILED" >&2
    exit 1
}
exit "$tests"
