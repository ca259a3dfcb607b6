// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <time.h>

#include <cstdint>
#include <string_view>

namespace fabricbench::timing {

/// The clock of every measurement, as named in the header of the output.
inline constexpr std::string_view clock_name = "clock_gettime(CLOCK_MONOTONIC)";

/// Nanoseconds since an arbitrary start, monotonic on this node; not comparable between nodes.
/// clock_gettime rather than MPI_Wtime: integer nanoseconds, and the same clock under every MPI
/// stack, where MPI_Wtime may be coarser. Rather than std::chrono::steady_clock: a simulating MPI
/// replaces the call by its simulated clock.
[[nodiscard]] inline std::int64_t now_ns() noexcept {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

/// Nanoseconds of processor time that the calling thread has used.
[[nodiscard]] inline std::int64_t thread_cpu_ns() noexcept {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

struct ClockQuality {
  double
      resolution_ns;   ///< smallest step seen between two readings that differ; 0 if none differed
  double overhead_ns;  ///< mean time of one reading; every sample contains about one, and none is
                       ///< subtracted
};

/// Measures the clock on this rank, in about a millisecond.
[[nodiscard]] ClockQuality measure_clock() noexcept;

}  // namespace fabricbench::timing
