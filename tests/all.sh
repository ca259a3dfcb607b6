#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs every part of `make test`, also after a failed one, and prints the result of each at the end.
# all.sh DIRECTORY-OF-PROGRAMS DIRECTORY-OF-MEASURING-TESTS...
set -u
bin=$(cd "$1" && pwd) || exit 2
shift
cd "$(dirname "$0")/.." || exit 2
trap 'exit 130' INT
trap 'exit 143' TERM

results=
failed=0

# part NAME COMMAND...
part() {
    name=$1
    shift
    printf '\n== %s\n' "$name"
    if "$@"; then
        result=passed
    else
        result="FAILED, exit status $?"
        failed=1
    fi
    results="$results$(printf '%-16s %s' "$name" "$result")
"
}

# shellcheck disable=SC2329  # called by part
others() {
    for folder; do
        set -- "$@" "--ignore=$folder"
        shift
    done
    "$bin/python" -m pytest -q -n 2 --dist loadfile "$@"
}

part lint sh tests/lint.sh "$bin"
part set-up "$bin/fabricbench" setup --for-tests
part clang-tidy sh tests/lint.sh "$bin" tidy
part "measuring tests" "$bin/python" -m pytest -q "$@"
part "other tests" others "$@"

printf '\nmake test:\n%s' "$results"
exit "$failed"
