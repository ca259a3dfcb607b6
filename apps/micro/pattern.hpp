// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace fabricbench::micro {

/// Which message a payload belongs to; messages that differ in one of these differ in their
/// payload.
struct MessageId {
  int sender;
  std::int64_t msg_size_bytes;
  std::int64_t iteration;
};

/// First wrong byte of a message.
struct Mismatch {
  MessageId message;
  std::size_t offset;
  std::uint8_t expected;
  std::uint8_t found;
};

/// Byte at `offset` of message `id`. Consecutive iterations differ in every byte, so that a message
/// that never arrived is seen in a buffer that holds the one before; offsets are hashed
/// (multiplication by 2^32 / golden ratio: Knuth, The Art of Computer Programming vol. 3, 6.4), so
/// that a displaced block is seen, too.
[[nodiscard]] std::uint8_t pattern_byte(const MessageId& id, std::size_t offset) noexcept;

/// Fills `buffer` (shape: msg_size_bytes) with the pattern of `id`.
void fill_pattern(std::span<std::uint8_t> buffer, const MessageId& id) noexcept;

/// First byte of `buffer` that differs from the pattern of `id`, if any. Every byte is looked at.
[[nodiscard]] std::optional<Mismatch> find_mismatch(std::span<const std::uint8_t> buffer,
                                                    const MessageId& id) noexcept;

/// One line that describes a wrong byte that `rank` received.
[[nodiscard]] std::string mismatch_text(const Mismatch& wrong, int rank);

}  // namespace fabricbench::micro
