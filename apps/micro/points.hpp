// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "micro/benchmark.hpp"
#include "micro/options.hpp"

namespace fabricbench::micro {

/// Points that are measured one after the other. Afterwards the processes agree whether all answers
/// were right.
using Points = std::vector<Point>;

/// All points that the options request, in groups and in this order.
[[nodiscard]] std::vector<Points> all_points(Order order, const Options& options);

/// The points of one message size.
[[nodiscard]] Points points_of_size(std::int64_t size, const Options& options);

}  // namespace fabricbench::micro
