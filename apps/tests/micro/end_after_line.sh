#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs a command, and ends it a time after its output contains a line.
#
#   end_after_line.sh EXPRESSION SECONDS COMMAND [ARGUMENT]...
#
# Prints the output. The exit status is 124 if the command was ended, else its own.
set -u
expression=$1
seconds=$2
shift 2
output=$(mktemp)
trap 'rm -f "$output"' EXIT
"$@" >"$output" &
command=$!
while kill -0 "$command" 2>/dev/null && ! grep -q "$expression" "$output"; do
    sleep 0.1
done
sleep "$seconds"
if kill "$command" 2>/dev/null; then
    wait "$command"
    status=124
else
    wait "$command"
    status=$?
fi
cat "$output"
exit "$status"
