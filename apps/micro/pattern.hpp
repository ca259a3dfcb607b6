// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace fabricbench::micro {

/// Identifies a message. Messages that differ in one of these have different payloads.
struct MessageId {
  int sender;
  std::int64_t msg_size_bytes;
  std::int64_t iteration;
};

/// The first wrong byte of a message.
struct Mismatch {
  MessageId message;
  std::size_t offset;
  std::uint8_t expected;
  std::uint8_t found;
};

/// The byte at `offset` of message `id`. Consecutive iterations differ in every byte, so that a
/// buffer with the previous message is detected. Offsets are hashed (multiplication by 2^32 /
/// golden ratio: Knuth, The Art of Computer Programming vol. 3, 6.4), so that a displaced block
/// is detected.
[[nodiscard]] std::uint8_t pattern_byte(const MessageId& id, std::size_t offset) noexcept;

/// Fills `buffer` (shape: msg_size_bytes) with the pattern of `id`.
void fill_pattern(std::span<std::uint8_t> buffer, const MessageId& id) noexcept;

/// The first byte of `buffer` that differs from the pattern of `id`, if any. Compares every
/// byte.
[[nodiscard]] std::optional<Mismatch> find_mismatch(std::span<const std::uint8_t> buffer,
                                                    const MessageId& id) noexcept;

/// One line that describes a wrong byte that `rank` received.
[[nodiscard]] std::string mismatch_text(const Mismatch& wrong, int rank);

}  // namespace fabricbench::micro
