// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "check.hpp"
#include "common/usage_error.hpp"
#include "micro/options.hpp"

using namespace fabricbench::micro;

namespace {

constexpr std::int64_t largest = 8 << 20;

using Arguments = std::vector<const char*>;

Options parse(const Arguments& arguments) {
  return parse_options(arguments, largest);
}

bool refuses(const Arguments& arguments, const std::string& part) {
  return check::throws<fabricbench::UsageError>([&] { static_cast<void>(parse(arguments)); }, part);
}

void test_defaults() {
  const Options options = parse({"pingpong"});
  CHECK(options.benchmark == "pingpong" && !options.check && !options.any_given);
  CHECK(options.iterations == 1000 && options.warmup == 100 && options.time_limit_s <= 0.0);
  CHECK(options.sizes_bytes.size() == 24 && options.sizes_bytes.back() == 4 << 20);
  CHECK(parse_options(Arguments{"pingpong"}, 100).sizes_bytes.back() == 64);
}

void test_given() {
  const Options options = parse({"pingpong", "--sizes", "1K,0", "--iterations=7", "--warmup", "0",
                                 "--time-limit", "2.5", "--check"});
  CHECK(options.sizes_bytes == (std::vector<std::int64_t>{1024, 0}));
  CHECK(options.iterations == 7 && options.warmup == 0 && options.check && options.any_given);
  CHECK(options.time_limit_s > 2.4 && options.time_limit_s < 2.6);
  CHECK(parse({"p", "--min-size", "8M"}).sizes_bytes == (std::vector<std::int64_t>{largest}));
  CHECK(parse({"p", "--min-size=2", "--max-size=9"}).sizes_bytes ==
        (std::vector<std::int64_t>{2, 4, 8}));
}

void test_refused() {
  CHECK(refuses({}, "no benchmark is named"));
  CHECK(refuses({"p", "--size", "1"}, "unknown argument \"--size\""));
  CHECK(refuses({"p", "extra"}, "unknown argument \"extra\""));
  CHECK(refuses({"p", "--sizes"}, "--sizes lacks its value"));
  CHECK(refuses({"p", "--check=yes"}, "takes no value"));
  CHECK(refuses({"p", "--check", "--check"}, "given twice"));
  CHECK(refuses({"p", "--sizes=1", "--max-size=2"}, "exclude each other"));
  CHECK(refuses({"p", "--min-size=2", "--max-size=1"}, "is larger than"));
  CHECK(refuses({"p", "--sizes=9M"}, "is too large"));
  for (const char* text : {"0", "-1", "1.5", "x", "", "1000000001"}) {
    CHECK(refuses({"p", "--iterations", text}, "is not a number from 1 to 10^9"));
  }
  for (const char* text : {"0", "-1", "nan", "inf", "x", ""}) {
    CHECK(refuses({"p", "--time-limit", text}, "is not a time"));
  }
}

}  // namespace

int main() {
  test_defaults();
  test_given();
  test_refused();
  return check::result();
}
