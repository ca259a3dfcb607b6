// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "micro/benchmark.hpp"

namespace fabricbench::micro {

/// What follows the name of a fact that holds at one point: metric, case and size, joined by dots,
/// as far as the benchmark has several; else "all". An empty metric is left out.
[[nodiscard]] std::string fact_label(const Benchmark& benchmark, std::string_view metric,
                                     const Point& point, std::string_view case_name);

/// The label of a point's marked interval: that of its facts, without the words of single
/// reporters, and with the turn where the point has several.
[[nodiscard]] std::string interval_label(const Benchmark& benchmark, std::string_view metric,
                                         const Part& part, const Point& point, int ranks);

}  // namespace fabricbench::micro
