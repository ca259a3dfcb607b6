// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include "micro/benchmark.hpp"

namespace fabricbench::micro {

/// Returns one line for each benchmark, for --list.
[[nodiscard]] std::string list(std::span<const Benchmark* const> benchmarks);

/// Returns the help text of the options that only some benchmarks have, for --help.
[[nodiscard]] std::string own_options_help(std::span<const Benchmark* const> benchmarks);

}  // namespace fabricbench::micro
