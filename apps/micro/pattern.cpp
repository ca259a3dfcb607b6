// SPDX-License-Identifier: Apache-2.0
#include "micro/pattern.hpp"

namespace fabricbench::micro {
namespace {

constexpr std::uint32_t golden_ratio = 0x9E3779B1U;

std::uint8_t hashed(std::uint64_t value) noexcept {
  return static_cast<std::uint8_t>((static_cast<std::uint32_t>(value) * golden_ratio) >> 24U);
}

/// Returns the part of the pattern that all bytes of a message share. The odd factor makes 256
/// consecutive iterations differ.
std::uint8_t message_part(const MessageId& id) noexcept {
  const auto sender = static_cast<std::uint64_t>(id.sender);
  const auto size = static_cast<std::uint64_t>(id.msg_size_bytes);
  const auto iteration = static_cast<std::uint64_t>(id.iteration);
  return static_cast<std::uint8_t>(iteration * 157U + hashed(size) + 101U * sender);
}

std::uint8_t byte_at(std::uint8_t base, std::size_t offset) noexcept {
  return static_cast<std::uint8_t>(hashed(offset) + base);
}

std::string hex(std::uint8_t byte) {
  constexpr const char* digits = "0123456789abcdef";
  return {'0', 'x', digits[byte >> 4U], digits[byte & 15U]};
}

}  // namespace

std::uint8_t pattern_byte(const MessageId& id, std::size_t offset) noexcept {
  return byte_at(message_part(id), offset);
}

void fill_pattern(std::span<std::uint8_t> buffer, const MessageId& id) noexcept {
  const std::uint8_t base = message_part(id);
  for (std::size_t i = 0; i < buffer.size(); ++i) buffer[i] = byte_at(base, i);
}

std::optional<Mismatch> find_mismatch(std::span<const std::uint8_t> buffer,
                                      const MessageId& id) noexcept {
  const std::uint8_t base = message_part(id);
  for (std::size_t i = 0; i < buffer.size(); ++i) {
    const std::uint8_t expected = byte_at(base, i);
    if (buffer[i] != expected) return Mismatch{id, i, expected, buffer[i]};
  }
  return std::nullopt;
}

std::string mismatch_text(const Mismatch& wrong, int rank) {
  return "wrong answer on rank " + std::to_string(rank) + ": message of " +
         std::to_string(wrong.message.msg_size_bytes) + " B from rank " +
         std::to_string(wrong.message.sender) + ", iteration " +
         std::to_string(wrong.message.iteration) + ", offset " + std::to_string(wrong.offset) +
         ": expected " + hex(wrong.expected) + ", found " + hex(wrong.found);
}

}  // namespace fabricbench::micro
