#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Everything that is read rather than run: lint.sh DIRECTORY-OF-PROGRAMS
set -eu
bin=$(cd "$1" && pwd)
cd "$(dirname "$0")/.."
PATH="$bin:$PATH"

ruff check -q .
ruff format -q --check .
mypy --no-error-summary
lint-imports --no-logo --no-cache >/dev/null || lint-imports --no-logo --no-cache
git ls-files '*.c' '*.h' '*.cpp' '*.hpp' | xargs clang-format --dry-run --Werror --style=file:apps/.clang-format
git ls-files '*.sh' '.ci/run' | xargs shellcheck
git ls-files '*.yaml' '*.yml' | xargs yamllint -s -d '{extends: default, rules: {line-length: {max: 140}, document-start: disable}}'
git ls-files | grep -Ev '^(tests/data/|LICENSE)' | xargs codespell -q 2
