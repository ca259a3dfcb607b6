#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Checks everything that can be checked without running it. The only list of these checks.
#
#   lint.sh DIRECTORY-OF-PROGRAMS        all checks; clang-tidy on C and C++ files that differ from the last commit, and
#                                        on the files that include a header that differs
#   lint.sh DIRECTORY-OF-PROGRAMS tidy   clang-tidy on all C and C++ files, in minutes
#
# clang-tidy needs the compile commands of `fabricbench setup mpich libfabric` in build/ or FABRICBENCH_BUILD. Files
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

# clang-tidy on the files whose names it reads, with the compile commands of the first stack that builds them. The
# programs outside apps/ are single files of C. Fails if a file has no compile commands and the argument is `all`.
tidy() {
    files=
    while read -r file; do
        case $file in
        apps/*) files="$files $file" ;;
        tests/support/*) ;; # commits errors on purpose: it corrupts its heap and calls vfork
        *) clang-tidy --config-file=apps/.clang-tidy --quiet "$file" -- -std=gnu11 2>/dev/null </dev/null ;;
        esac
    done
    for stack in mpich libfabric; do
        commands=${FABRICBENCH_BUILD:-build}/stacks/$stack/build
        rest=
        known=
        for file in $files; do
            if grep -qsF "\"$PWD/$file\"" "$commands/compile_commands.json"; then
                known="$known $file"
            else
                rest="$rest $file"
            fi
        done
        # shellcheck disable=SC2086 # a list of names without blanks
        [ -z "$known" ] || printf '%s\n' $known | xargs -P "$(nproc)" -n 4 clang-tidy -p "$commands" --quiet 2>/dev/null
        files=$rest
    done
    [ -z "$files" ] || echo "lint: no compile commands, so clang-tidy leaves out:$files" >&2
    [ -z "$files" ] || [ "$1" != all ]
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
