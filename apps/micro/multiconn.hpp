// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "micro/benchmark.hpp"

namespace fabricbench::micro {

/// Messages each way on each connection in one window.
inline constexpr int messages_per_connection = 8;

inline constexpr std::int64_t connection_numbers[]{1, 2, 4, 8, 16, 32, 64, 128, 256};
inline constexpr Quantity normalised_latency{.metric = "normalised_latency_us",
                                             .fewer_iterations = 4};
inline constexpr Quantity connection_window{.metric = "window_us", .fewer_iterations = 10};

/// Returns the part of the record of multiconn that fabricbench-micro and fabricbench-endpoints
/// share.
constexpr Benchmark multiconn_record(std::span<const Quantity> quantities) {
  return {.name = "multiconn",
          .summary =
              "many connections of one rank pair at once; latency per connection, both-way "
              "throughput",
          .dimensions = {.choice = {},
                         .amount = {.key = "connections",
                                    .defaults = connection_numbers,
                                    .least = 1,
                                    .most = 256,
                                    .meaning = "connections of a rank pair"}},
          .quantities = quantities};
}

}  // namespace fabricbench::micro
