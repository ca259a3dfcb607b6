#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs every part of `make test`, also after one that failed, and reports the result of each at the end.
# all.sh DIRECTORY-OF-PROGRAMS "MEASURING-TESTS..." "CLUSTER-TESTS..."
# The measuring tests run alone, one at a time. The cluster tests mostly wait for Slurm: the other tests and clang-tidy
# run meanwhile.
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
    "$bin/python" -m pytest -q -n 4 --dist loadfile $(without $measuring $cluster)
}

# outcome PID LOG: waits for a command in the background, prints its log, and returns its exit status
# shellcheck disable=SC2329  # called by part
outcome() {
    wait "$1"
    status=$?
    cat "$2"
    rm -f "$2"
    return "$status"
}

part lint sh tests/lint.sh "$bin"
part set-up "$bin/fabricbench" setup --for-tests
# shellcheck disable=SC2086  # several folders
part "measuring tests" "$bin/python" -m pytest -q $measuring
tidy_log=$(mktemp) cluster_log=$(mktemp)
sh tests/lint.sh "$bin" tidy >"$tidy_log" 2>&1 &
tidy_pid=$!
# shellcheck disable=SC2046,SC2086  # several folders
"$bin/python" -m pytest -q $(without $measuring) $cluster >"$cluster_log" 2>&1 &
cluster_pid=$!
part "other tests" others
part clang-tidy outcome "$tidy_pid" "$tidy_log"
part "cluster tests" outcome "$cluster_pid" "$cluster_log"

printf '\nmake test:\n%s' "$results"
exit "$failed"
