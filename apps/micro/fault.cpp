// SPDX-License-Identifier: Apache-2.0
#include "micro/fault.hpp"

#include <unistd.h>

#include <charconv>
#include <optional>

#include "common/usage_error.hpp"

namespace fabricbench::micro {

namespace {

/// Returns the number in a text that consists of `prefix` and a number from `least` to `most`.
template <class Number>
std::optional<Number> number_after(std::string_view prefix, std::string_view text, Number least,
                                   Number most) {
  Number number{};
  if (!text.starts_with(prefix)) return {};
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data() + prefix.size(), end, number);
  const bool whole = error == std::errc{} && rest == end && number >= least && number <= most;
  return whole ? std::optional(number) : std::nullopt;
}

}  // namespace

Fault parse_fault(const char* text) {
  const std::string_view fault = text == nullptr ? "" : text;
  Fault result{.text = std::string(fault)};
  if (fault.empty()) return result;
  if (fault == "flip") {
    result.kind = Fault::Kind::flip;
  } else if (fault == "hang") {
    result.kind = Fault::Kind::hang;
  } else if (const auto us = number_after<double>("slow:", fault, 1e-9, 1e6)) {
    result.kind = Fault::Kind::slow;
    result.slow_us = *us;
  } else if (const auto count = number_after<std::int64_t>("exhaust:", fault, 0, 1'000'000)) {
    result.kind = Fault::Kind::exhaust;
    result.count = *count;
  } else {
    throw UsageError("FABRICBENCH_MICRO_FAULT: \"" + std::string(fault) +
                     "\" is none of flip, hang, slow:<us up to 1e6>, exhaust:<count up to 1e6>; "
                     "unset it, it is for tests only");
  }
  return result;
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
