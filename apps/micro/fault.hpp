// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace fabricbench::micro {

/// Fault that a test of the harness injects by FABRICBENCH_MICRO_FAULT. Never set in a measurement;
/// when set, the header says so. Nothing here is called in the timed region unless a slow-down was
/// asked for.
struct Fault {
  enum class Kind { none, flip, hang, slow, exhaust };
  Kind kind = Kind::none;
  double slow_us = 0.0;    ///< added to every reported value
  std::int64_t count = 0;  ///< messages or receives that a queue takes before it is full
  std::string text;        ///< as given, for the header
};

/// Parses flip, hang, slow:<µs> or exhaust:<n>; nullptr or empty is no fault. Throws UsageError for
/// anything else, so that a misspelt fault is not taken for a passed test.
[[nodiscard]] Fault parse_fault(const char* text);

/// Inverts the middle byte of a payload; an empty one stays as it is.
void flip_byte(std::span<std::uint8_t> payload) noexcept;

/// Never returns; sleeps until the process is killed.
[[noreturn]] void hang();

}  // namespace fabricbench::micro
