#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs every part of `make test`, also after one that failed, and reports the result of each at the end.
# all.sh DIRECTORY-OF-PROGRAMS "MEASURING-TESTS..." "CLUSTER-TESTS..." "LONE-TESTS..."
# The measuring tests start MPI programs, one at a time. The cluster tests mostly wait for Slurm and run meanwhile. The
# lone tests need the cluster, and no other test at normal priority; they run after both. The other tests, lint and clang-tidy use the processor
# time that these leave: they run with the lowest priority.
set -u
bin=$(cd "$1" && pwd) || exit 2
measuring=$2
cluster=$3
lone=$4
cd "$(dirname "$0")/.." || exit 2
logs=$(mktemp -d) || exit 2
trap 'rm -rf "$logs"' EXIT
trap 'interrupt 130' INT
trap 'interrupt 143' TERM

results=
failed=0

# part NAME COMMAND...: runs a part and notes its result
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

# background NAME COMMAND...: starts a command; its output goes to a file
background() {
    log=$logs/$1
    shift
    "$@" >"$log" 2>&1 &
    echo $! >"$log.pid"
}

# outcome NAME: waits for a command in the background, prints its output, and returns its exit status
# shellcheck disable=SC2329  # called by part
outcome() {
    wait "$(cat "$logs/$1.pid")"
    status=$?
    cat "$logs/$1"
    return "$status"
}

# interrupt STATUS: ends the commands in the background, which ignore the terminal's SIGINT, and this one. The cluster
# tests go on, because they remove their cluster at their end.
# shellcheck disable=SC2329  # called by trap
interrupt() {
    for name in others lint tidy; do
        [ ! -f "$logs/$name.pid" ] || kill "$(cat "$logs/$name.pid")" 2>/dev/null
    done
    exit "$1"
}

# without FILES-AND-FOLDERS...: the option of pytest that leaves each of them out
without() {
    printf -- '--ignore=%s ' "$@"
}

part set-up "$bin/fabricbench" setup --for-tests
# shellcheck disable=SC2046,SC2086  # several folders
background others nice -n 19 "$bin/python" -m pytest -q -n 3 --dist loadfile --no-loadscope-reorder \
    $(without $measuring $cluster $lone)
background lint nice -n 19 sh tests/lint.sh "$bin"
background tidy nice -n 19 sh tests/lint.sh "$bin" tidy
# shellcheck disable=SC2046,SC2086  # several folders
background cluster "$bin/python" -m pytest -q $(without $measuring $lone) $cluster
# shellcheck disable=SC2086  # several folders
part "measuring tests" "$bin/python" -m pytest -q $measuring
part "cluster tests" outcome cluster
# shellcheck disable=SC2086  # several folders
part "lone tests" "$bin/python" -m pytest -q $lone
part "other tests" outcome others
part lint outcome lint
part clang-tidy outcome tidy

printf '\nmake test:\n%s' "$results"
exit "$failed"
