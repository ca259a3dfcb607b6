// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "micro/benchmark.hpp"

namespace fabricbench::micro {

/// Returns the suffix of a fact's name at one point: metric, case and size, joined by dots, each
/// only if the benchmark has several; otherwise "all". Omits an empty metric.
[[nodiscard]] std::string fact_label(const Benchmark& benchmark, std::string_view metric,
                                     const Point& point, std::string_view case_name);

/// Returns the label of a point's marked interval: the label of its facts without the words of
/// reporters, and with the turn if the point has several.
[[nodiscard]] std::string interval_label(const Benchmark& benchmark, std::string_view metric,
                                         const Part& part, const Point& point, int ranks);

}  // namespace fabricbench::micro
