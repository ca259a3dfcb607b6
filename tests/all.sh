#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs every part of `make test`, also after one that failed, and reports the result of each at the end.
# all.sh DIRECTORY-OF-PROGRAMS "MEASURING-TESTS..." "CLUSTER-TESTS..."
# The measuring tests run alone, one at a time. The cluster tests mostly wait for Slurm: the other tests run meanwhile.
set -u
bin=$(cd "$1" && pwd) || exit 2
measuring=$2
cluster=$3
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

# without FOLDERS...: the option of pytest that leaves each of them out
without() {
    printf -- '--ignore=%s ' "$@"
}

# shellcheck disable=SC2329,SC2046,SC2086  # called by part; several folders
others() {
    "$bin/python" -m pytest -q -n 3 --dist loadfile $(without $measuring $cluster)
}

# shellcheck disable=SC2329  # called by part
cluster_result() {
    wait "$cluster_pid"
    status=$?
    cat "$log"
    rm -f "$log"
    return "$status"
}

part lint sh tests/lint.sh "$bin"
part set-up "$bin/fabricbench" setup --for-tests
part clang-tidy sh tests/lint.sh "$bin" tidy
# shellcheck disable=SC2086  # several folders
part "measuring tests" "$bin/python" -m pytest -q $measuring
log=$(mktemp)
# shellcheck disable=SC2046,SC2086  # several folders
"$bin/python" -m pytest -q $(without $measuring) $cluster >"$log" 2>&1 &
cluster_pid=$!
part "other tests" others
part "cluster tests" cluster_result

printf '\nmake test:\n%s' "$results"
exit "$failed"
