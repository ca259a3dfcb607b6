#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Checks everything that can be checked without running it. The only list of these checks.
#
#   lint.sh DIRECTORY-OF-PROGRAMS        all checks; clang-tidy on C and C++ files that differ from the last commit, and
#                                        on the files that include a header that differs
#   lint.sh DIRECTORY-OF-PROGRAMS tidy   clang-tidy on all C and C++ files, in minutes
#
# clang-tidy examines a file once: the directory fabricbench-tidy in the user's cache has a mark of each that passed. It
# needs the compile commands of `fabricbench setup mpich libfabric` in build/ or FABRICBENCH_BUILD. Files
# without them are left out; with `tidy` they are an error.
set -eu
bin=$(cd "$1" && pwd)
cd "$(dirname "$0")/.."
PATH="$bin:$PATH"

# Prints the C and C++ files that differ from the last commit, untracked files included, and all that include them.
changed() {
    names=$({
        git diff --name-only --diff-filter=d HEAD
        git ls-files -o --exclude-standard
    } | grep -E '\.(c|h|cpp|hpp)$' | sort -u)
    while :; do
        all=$({
            printf '%s\n' "$names"
            for header in $(printf '%s\n' "$names" | grep -E '\.(h|hpp)$'); do
                git grep -lE --untracked "#include \"([^\"]*/)?${header##*/}\"" -- '*.c' '*.h' '*.cpp' '*.hpp' || true
            done
        } | sort -u)
        [ "$all" != "$names" ] || break
        names=$all
    done
    printf '%s\n' "$names" | grep -E '\.(c|cpp)$' || true
}

# Prints a digest of everything but the file itself that decides what clang-tidy reports: its version and settings, the
# compiler, the headers, and what headers are generated from. Arguments: files of compile commands.
surroundings() {
    {
        clang-tidy --version || true
        c++ --version || true
        git ls-files -co --exclude-standard apps inputs/npb | grep -vE '\.(c|cpp)$' | xargs cat || true
        for commands in "$@"; do
            [ -f "$commands" ] || continue
            sed "s|$PWD|.|g" "$commands"
            grep -oE '(-I|-isystem )/[^ "]+' "$commands" | sed 's/^[^/]*//' | sort -u | while read -r folder; do
                cat "$folder"/mpi*.h "$folder"/rdma/*.h || true
            done
        done
    } 2>/dev/null | sha256sum
}

# Runs clang-tidy unless the file has passed before: CACHE KEY FILE OPTION...
# shellcheck disable=SC2016 # a program for another shell
tidy_file='
known=$1/$2 file=$3
shift 3
[ ! -f "$known" ] || exit 0
clang-tidy --quiet "$file" "$@" 2>/dev/null </dev/null || exit 1
[ ! -d "${known%/*}" ] || : >"$known"'

# clang-tidy on the files whose names it reads, with the compile commands of the first stack that builds them. The
# programs outside apps/ are single files of C. A file that has passed is not examined again, in any checkout, until it
# or its surroundings change. Fails if a file has no compile commands and the argument is `all`.
tidy() {
    stacks=${FABRICBENCH_BUILD:-build}/stacks
    cache=-
    if [ -n "$(clang-tidy --version 2>/dev/null || true)" ]; then
        cache=${XDG_CACHE_HOME:-${HOME:-}/.cache}/fabricbench-tidy
        mkdir -p "$cache" 2>/dev/null || cache=-
    fi
    around=$(surroundings "$stacks/mpich/build/compile_commands.json" "$stacks/libfabric/build/compile_commands.json")
    jobs=
    missing=
    # shellcheck disable=SC2013 # names without blanks
    for file in $(cat); do
        options=
        case $file in
        apps/*)
            for stack in mpich libfabric; do
                commands=$stacks/$stack/build
                if grep -qsF "\"$PWD/$file\"" "$commands/compile_commands.json"; then
                    options="-p $commands"
                    break
                fi
            done
            [ -n "$options" ] || missing="$missing $file"
            ;;
        tests/support/*) ;; # commits errors on purpose: it corrupts its heap and calls vfork
        *) options="--config-file=apps/.clang-tidy -- -std=gnu11" ;;
        esac
        key=$( (echo "$around $options" && cat "$file") | sha256sum | cut -c1-64)
        [ -z "$options" ] || jobs="$jobs$cache $key $file $options
"
    done
    printf '%s' "$jobs" | xargs -r -P "$(nproc)" -L 1 sh -c "$tidy_file" tidy
    [ ! -d "$cache" ] || find "$cache" -type f -mtime +30 -delete
    [ -z "$missing" ] || echo "lint: no compile commands, so clang-tidy leaves out:$missing" >&2
    [ -z "$missing" ] || [ "$1" != all ]
}

if [ "${2:-}" = tidy ]; then
    git ls-files -co --exclude-standard '*.c' '*.cpp' | tidy all
    exit
fi

ruff check -q .
ruff format -q --check .
mypy --no-error-summary
lint-imports --no-logo --no-cache >/dev/null || lint-imports --no-logo --no-cache
git ls-files -co --exclude-standard '*.c' '*.h' '*.cpp' '*.hpp' | xargs clang-format --dry-run --Werror --style=file:apps/.clang-format
changed | tidy changed
git ls-files '*.j2' | xargs python -c '
import sys
from pathlib import Path
from jinja2 import Environment
for name in sys.argv[1:]:
    Environment().parse(Path(name).read_text(), filename=name)'
fortitude check --quiet apps
git ls-files '*CMakeLists.txt' '*.cmake' | xargs gersemi --check
git ls-files '*.sh' '.ci/run' | xargs shellcheck
git ls-files '*.yaml' '*.yml' | xargs yamllint -s -d '{extends: default, rules: {line-length: {max: 140}, document-start: disable}}'
git ls-files | grep -Ev '^(tests/data/|LICENSE)' | xargs codespell -q 2
