// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace fabricbench::micro {

/// Largest message: MPI counts bytes in an int.
inline constexpr std::int64_t largest_msg_size = 2147483647;

/// Returns the bytes that `text` states: digits with an optional suffix K, KiB (2^10), M, MiB
/// (2^20), G or GiB (2^30). Throws UsageError, which names `option`, for other text and for more
/// than `largest` bytes.
[[nodiscard]] std::int64_t parse_size(std::string_view option, std::string_view text,
                                      std::int64_t largest);

/// Comma-separated sizes in the order given. Throws UsageError for an empty list or element and for
/// a size given twice.
[[nodiscard]] std::vector<std::int64_t> parse_size_list(std::string_view option,
                                                        std::string_view text,
                                                        std::int64_t largest);

/// Returns smallest and its doubles up to largest; 1 follows 0. Range: 0 <= smallest <= largest.
[[nodiscard]] std::vector<std::int64_t> doubling_sizes(std::int64_t smallest, std::int64_t largest);

/// Largest message that this node's memory allows: a quarter of the physical memory (a rank holds
/// two buffers), at most `largest_msg_size`.
[[nodiscard]] std::int64_t largest_size_in_memory();

/// A quarter of this node's memory, in bytes, or of the limit of this process's control groups.
[[nodiscard]] std::int64_t quarter_of_memory();

/// Bytes of `messages` messages of `size` bytes. Throws UsageError if they exceed a quarter of the
/// physical memory.
[[nodiscard]] std::size_t capacity(std::int64_t messages, std::int64_t size);

}  // namespace fabricbench::micro
