// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "check.hpp"
#include "common/usage_error.hpp"
#include "micro/fault.hpp"

using namespace fabricbench::micro;

namespace {

void test_parse() {
  CHECK(parse_fault(nullptr).kind == Fault::Kind::none);
  CHECK(parse_fault("").kind == Fault::Kind::none);
  CHECK(parse_fault("flip").kind == Fault::Kind::flip);
  CHECK(parse_fault("hang").kind == Fault::Kind::hang);
  const Fault slow = parse_fault("slow:2.5");
  CHECK(slow.kind == Fault::Kind::slow && slow.slow_us > 2.4 && slow.slow_us < 2.6);
  const Fault exhaust = parse_fault("exhaust:20");
  CHECK(exhaust.kind == Fault::Kind::exhaust && exhaust.count == 20);
  for (const char* text : {"exhaust", "exhaust:-1", "exhaust:1.5", "Flip", "slow",
                           "slow:", "slow:0", "slow:-1", "slow:nan", "slow:3us"}) {
    CHECK(check::throws<fabricbench::UsageError>([&] { static_cast<void>(parse_fault(text)); },
                                                 "is none of"));
  }
}

void test_flip() {
  std::vector<std::uint8_t> payload{1, 2, 3};
  flip_byte(payload);
  CHECK((payload == std::vector<std::uint8_t>{1, 0xFD, 3}));
  payload.clear();
  flip_byte(payload);
  CHECK(payload.empty());
}

}  // namespace

int main() {
  test_parse();
  test_flip();
  return check::result();
}
