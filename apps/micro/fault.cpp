// SPDX-License-Identifier: Apache-2.0
#include "micro/fault.hpp"

#include <unistd.h>

#include <charconv>

#include "common/usage_error.hpp"

namespace fabricbench::micro {

Fault parse_fault(const char* text) {
  const std::string_view fault = text == nullptr ? "" : text;
  if (fault.empty()) return {};
  if (fault == "flip")
    return {.kind = Fault::Kind::flip, .slow_us = 0.0, .text = std::string(fault)};
  if (fault == "hang")
    return {.kind = Fault::Kind::hang, .slow_us = 0.0, .text = std::string(fault)};
  constexpr std::string_view slow = "slow:";
  double us = 0.0;
  const char* const end = fault.data() + fault.size();
  if (fault.starts_with(slow)) {
    const auto [rest, error] = std::from_chars(fault.data() + slow.size(), end, us);
    if (error == std::errc{} && rest == end && us > 0.0 && us <= 1e6) {
      return {.kind = Fault::Kind::slow, .slow_us = us, .text = std::string(fault)};
    }
  }
  throw UsageError("FABRICBENCH_MICRO_FAULT: \"" + std::string(fault) +
                   "\" is none of flip, hang, slow:<us up to 1e6>; unset it, it is for tests only");
}

void flip_byte(std::span<std::uint8_t> payload) noexcept {
  if (payload.empty()) return;
  std::uint8_t& middle = payload[payload.size() / 2];
  middle = static_cast<std::uint8_t>(~middle);
}

void hang() {
  for (;;) sleep(1000);
}

}  // namespace fabricbench::micro
