// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <time.h>

#include <cstdint>
#include <string_view>

namespace fabricbench::timing {

/// The name of the clock of all measurements, for the header of the output.
inline constexpr std::string_view clock_name = "clock_gettime(CLOCK_MONOTONIC)";

/// Nanoseconds since an arbitrary start, monotonic on this node; not comparable between nodes.
[[nodiscard]] inline std::int64_t now_ns() noexcept {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

/// The processor time of the calling thread in nanoseconds.
[[nodiscard]] inline std::int64_t thread_cpu_ns() noexcept {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

struct ClockQuality {
  double resolution_ns;  ///< smallest difference between two readings, 0 if all were equal
  double overhead_ns;    ///< mean time of one reading; every sample includes about one
};

/// Measures the clock on this rank; takes about a millisecond.
[[nodiscard]] ClockQuality measure_clock() noexcept;

}  // namespace fabricbench::timing
