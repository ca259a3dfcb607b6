#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Checks everything that can be checked without running it. The only list of these checks.
#
#   lint.sh DIRECTORY-OF-PROGRAMS        all checks; clang-tidy on C and C++ files that differ from the last commit
#   lint.sh DIRECTORY-OF-PROGRAMS tidy   clang-tidy on all C and C++ files, in minutes
#
# clang-tidy needs the compile commands of `fabricbench setup mpich libfabric`. Files without them are left out.
set -eu
bin=$(cd "$1" && pwd)
cd "$(dirname "$0")/.."
PATH="$bin:$PATH"

# clang-tidy on the files whose names it reads, with the compile commands of the first stack that builds them.
tidy() {
    files=$(cat)
    for stack in mpich libfabric; do
        commands=build/stacks/$stack/build
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
}

if [ "${2:-}" = tidy ]; then
    git ls-files 'apps/*.c' 'apps/*.cpp' | tidy
    exit
fi

ruff check -q .
ruff format -q --check .
mypy --no-error-summary
lint-imports --no-logo --no-cache >/dev/null || lint-imports --no-logo --no-cache
git ls-files '*.c' '*.h' '*.cpp' '*.hpp' | xargs clang-format --dry-run --Werror --style=file:apps/.clang-format
git diff --name-only --diff-filter=d HEAD -- 'apps/*.c' 'apps/*.cpp' | tidy
fortitude check --quiet apps
git ls-files '*CMakeLists.txt' '*.cmake' | xargs gersemi --check
git ls-files '*.sh' '.ci/run' | xargs shellcheck
git ls-files '*.yaml' '*.yml' | xargs yamllint -s -d '{extends: default, rules: {line-length: {max: 140}, document-start: disable}}'
git ls-files | grep -Ev '^(tests/data/|LICENSE)' | xargs codespell -q 2
