// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace fabricbench::micro {

/// A fault that a test of the harness injects with FABRICBENCH_MICRO_FAULT. The header of the
/// output names it. Only the slow-down adds anything to the timed region.
struct Fault {
  enum class Kind { none, flip, hang, slow, exhaust };
  Kind kind = Kind::none;
  double slow_us = 0.0;    ///< added to every reported value
  std::int64_t count = 0;  ///< messages or receives that a queue accepts before it is full
  std::string text;        ///< the value of the variable, for the header
};

/// Parses flip, hang, slow:<µs> or exhaust:<n>; nullptr or empty is no fault. Throws UsageError
/// for other text, so that a test with a misspelt fault fails.
[[nodiscard]] Fault parse_fault(const char* text);

/// Inverts the middle byte of a payload; does nothing if it is empty.
void flip_byte(std::span<std::uint8_t> payload) noexcept;

/// Never returns; sleeps until the process is killed.
[[noreturn]] void hang();

}  // namespace fabricbench::micro
