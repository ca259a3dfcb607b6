// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include "check.hpp"
#include "micro/pattern.hpp"

using namespace fabricbench::micro;

namespace {

using Bytes = std::vector<std::uint8_t>;

Bytes pattern(const MessageId& id) {
  Bytes bytes(static_cast<std::size_t>(id.msg_size_bytes));
  fill_pattern(bytes, id);
  return bytes;
}

void test_round_trip() {
  for (const std::int64_t size : {0, 1, 7, 4096, 100'000}) {
    const MessageId id{.sender = 3, .msg_size_bytes = size, .iteration = 5};
    const Bytes bytes = pattern(id);
    CHECK(!find_mismatch(bytes, id));
    for (std::size_t i = 0; i < bytes.size(); ++i) CHECK(bytes[i] == pattern_byte(id, i));
  }
}

void test_flipped_bits() {
  const MessageId id{.sender = 0, .msg_size_bytes = 300, .iteration = 9};
  Bytes bytes = pattern(id);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      const std::uint8_t right = bytes[i];
      bytes[i] = static_cast<std::uint8_t>(right ^ (1U << bit));
      const auto wrong = find_mismatch(bytes, id);
      CHECK(wrong && wrong->offset == i && wrong->expected == right && wrong->found == bytes[i]);
      bytes[i] = right;
    }
  }
}

/// Checks that messages of other iterations or senders differ.
void test_other_messages() {
  const MessageId id{.sender = 0, .msg_size_bytes = 1, .iteration = 1000};
  for (std::int64_t later = 1; later < 256; ++later) {
    CHECK(pattern(id) != pattern({.sender = 0, .msg_size_bytes = 1, .iteration = 1000 + later}));
  }
  for (int sender = 1; sender < 256; ++sender) {
    CHECK(pattern(id) != pattern({.sender = sender, .msg_size_bytes = 1, .iteration = 1000}));
  }
}

/// Checks that a displaced block differs from the expected bytes for every displacement.
void test_displacement() {
  const MessageId id{.sender = 1, .msg_size_bytes = 1 << 20, .iteration = 0};
  const Bytes bytes = pattern(id);
  for (const std::ptrdiff_t shift : {1, 8, 64, 256, 4096, 65536, 1 << 19}) {
    CHECK(!std::equal(bytes.begin() + shift, bytes.begin() + shift + 64, bytes.begin()));
  }
}

}  // namespace

int main() {
  test_round_trip();
  test_flipped_bits();
  test_other_messages();
  test_displacement();
  return check::result();
}
