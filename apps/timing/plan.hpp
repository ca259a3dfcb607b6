// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace fabricbench::timing {

/// Most samples that are kept per message size and rank.
inline constexpr std::int64_t max_samples = 1000;

/// Up to this message size (bytes) a count of iterations holds as asked for; above, it falls in
/// proportion to the size.
inline constexpr std::int64_t full_count_limit_bytes = 65536;

/// Scaling never goes below these counts, unless fewer were asked for.
inline constexpr std::int64_t least_iterations = 10;
inline constexpr std::int64_t least_warmup = 2;

/// Iterations that are run for one message size: `warmup` dropped ones, then `samples` times
/// `stride` timed ones, of which the last of every `stride` is kept.
struct Plan {
  std::int64_t warmup = 0;
  std::int64_t stride = 1;
  std::int64_t samples = 0;

  [[nodiscard]] constexpr std::int64_t iterations() const { return stride * samples; }
};

/// Count for messages of `msg_size` bytes when `count` were asked for: `count` up to 64 KiB, then
/// max(min(least, count), count * 64 KiB / msg_size), which bounds the moved volume. Where one
/// iteration stands for many messages a `fewer`th of `count` is scaled, at least min(least, count).
/// Range: 0 <= count <= 10^9, msg_size >= 0, fewer >= 1.
[[nodiscard]] std::int64_t scaled_count(std::int64_t count, std::int64_t msg_size,
                                        std::int64_t least, std::int64_t fewer = 1);

/// Plan of `iterations` (>= 1) timed iterations. The stride is the smallest one that keeps at most
/// `max_samples` samples; the iterations are rounded down to a multiple of it.
[[nodiscard]] Plan make_plan(std::int64_t iterations, std::int64_t warmup);

/// Iterations that fit into `limit_s` seconds when one takes `iteration_s`: at most `planned`, at
/// least min(planned, least_iterations). An estimate of 0 s keeps the plan.
[[nodiscard]] std::int64_t limited_count(std::int64_t planned, double limit_s, double iteration_s);

}  // namespace fabricbench::timing
