// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "micro/benchmark.hpp"

namespace fabricbench::micro {

/// Prints the benchmarks as JSON, for --describe. Checks, parser, report and tests read a copy of
/// it: analysis/fabricbench/parsers/tools/micro/benchmarks.json.
void describe(std::span<const Benchmark* const> benchmarks);

}  // namespace fabricbench::micro
