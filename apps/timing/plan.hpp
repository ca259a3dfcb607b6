// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace fabricbench::timing {

/// The largest number of samples that are kept per message size and rank.
inline constexpr std::int64_t max_samples = 1000;

/// Up to this message size in bytes the number of iterations is the requested one. Above it the
/// number falls in proportion to the size.
inline constexpr std::int64_t full_count_limit_bytes = 65536;

/// The smallest numbers of iterations after scaling, unless fewer are requested.
inline constexpr std::int64_t least_iterations = 10;
inline constexpr std::int64_t least_warmup = 2;

/// The iterations for one message size: `warmup` untimed ones, then `samples` times `stride` timed
/// ones. The last of every `stride` timed iterations becomes a sample.
struct Plan {
  std::int64_t warmup = 0;
  std::int64_t stride = 1;
  std::int64_t samples = 0;

  [[nodiscard]] constexpr std::int64_t iterations() const { return stride * samples; }
};

/// The number of iterations for messages of `msg_size` bytes if `count` are requested: `count`
/// up to 64 KiB, then max(min(least, count), count * 64 KiB / msg_size), which limits the
/// volume. For iterations of many messages `count` / `fewer` is scaled instead, to at least
/// min(least, count). Range: 0 <= count <= 10^9, msg_size >= 0, fewer >= 1.
[[nodiscard]] std::int64_t scaled_count(std::int64_t count, std::int64_t msg_size,
                                        std::int64_t least, std::int64_t fewer = 1);

/// The plan of `iterations` (>= 1) timed iterations. The stride is the smallest with at most
/// `max_samples` samples; the iterations are rounded down to a multiple of it.
[[nodiscard]] Plan make_plan(std::int64_t iterations, std::int64_t warmup);

/// The number of iterations of `iteration_s` seconds that fit into `limit_s` seconds: at most
/// `planned`, at least min(planned, least_iterations). If `iteration_s` is 0 it is `planned`.
[[nodiscard]] std::int64_t limited_count(std::int64_t planned, double limit_s, double iteration_s);

}  // namespace fabricbench::timing
