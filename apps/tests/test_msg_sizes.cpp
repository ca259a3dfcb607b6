// SPDX-License-Identifier: Apache-2.0
#include "check.hpp"
#include "common/usage_error.hpp"
#include "micro/msg_sizes.hpp"

using namespace fabricbench::micro;

namespace {

using Sizes = std::vector<std::int64_t>;

std::int64_t size(std::string_view text) {
  return parse_size("--sizes", text, largest_msg_size);
}

bool refuses(std::string_view text, const std::string& part) {
  return check::throws<fabricbench::UsageError>([&] { static_cast<void>(size(text)); }, part);
}

void test_one_size() {
  CHECK(size("0") == 0);
  CHECK(size("8") == 8);
  CHECK(size("3K") == 3072 && size("3KiB") == 3072);
  CHECK(size("4M") == 4194304 && size("4MiB") == 4194304);
  CHECK(size("1G") == 1073741824);
  CHECK(size("2147483647") == 2147483647);
}

void test_rejected() {
  for (const char* text :
       {"", "-1", "-0", "+8", "8Q", "8 ", " 8", "8KB", "8k", "KiB", "0x8", "1.5K"}) {
    CHECK(refuses(text, "is not a message size"));
  }
  for (const char* text : {"2147483648", "2G", "2048M", "99999999999999999999"}) {
    CHECK(refuses(text, "is too large"));
  }
  CHECK(check::throws<fabricbench::UsageError>(
      [] { static_cast<void>(parse_size("--max-size", "2K", 2047)); },
      "--max-size: \"2K\" is too large; the limit here is 2047 bytes"));
}

void test_lists() {
  CHECK(parse_size_list("--sizes", "8,0,1KiB", 4096) == (Sizes{8, 0, 1024}));
  for (const char* text : {"", "1,", ",1", "1,,2", "1;2"}) {
    CHECK(check::throws<fabricbench::UsageError>(
        [&] { static_cast<void>(parse_size_list("--sizes", text, 4096)); },
        "is not a message size"));
  }
  CHECK(check::throws<fabricbench::UsageError>(
      [] { static_cast<void>(parse_size_list("--sizes", "1024,1K", 4096)); }, "1024 bytes twice"));
}

void test_doubling() {
  CHECK(doubling_sizes(0, 5) == (Sizes{0, 1, 2, 4}));
  CHECK(doubling_sizes(3, 24) == (Sizes{3, 6, 12, 24}));
  CHECK(doubling_sizes(0, 0) == (Sizes{0}));
  CHECK(doubling_sizes(0, largest_msg_size).size() == 32);
}

void test_memory() {
  CHECK(largest_size_in_memory() > 0 && largest_size_in_memory() <= largest_msg_size);
}

}  // namespace

int main() {
  test_one_size();
  test_rejected();
  test_lists();
  test_doubling();
  test_memory();
  return check::result();
}
