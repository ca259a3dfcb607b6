// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "check.hpp"
#include "common/usage_error.hpp"
#include "micro/options.hpp"

using namespace fabricbench::micro;

namespace {

constexpr std::int64_t largest = 8 << 20;

using Arguments = std::vector<const char*>;

constexpr std::string_view words[]{"lock", "fence"};
constexpr std::int64_t lengths[]{0, 16};
constexpr Dimensions plain{};
constexpr Dimensions varied{
    .choice = {.key = "sync", .words = words},
    .amount = {.key = "queued", .defaults = lengths, .least = 0, .most = 99},
    .sized = true,
    .size_unit = 4};
constexpr Dimensions in_rounds{.choice = {}, .amount = {}, .rounds = true};
constexpr Dimensions unsized{.choice = {}, .amount = {}, .sized = false};

Options parse(const Arguments& arguments, const Dimensions& dimensions = plain) {
  return parse_options(arguments, dimensions, largest);
}

bool refuses(const Arguments& arguments, const std::string& part,
             const Dimensions& dimensions = plain) {
  return check::throws<fabricbench::UsageError>(
      [&] { static_cast<void>(parse(arguments, dimensions)); }, part);
}

void test_defaults() {
  const Options options = parse({});
  CHECK(!options.check && !options.any_given);
  CHECK(options.choices == std::vector<std::size_t>{0});
  CHECK(options.amounts == std::vector<std::int64_t>{0});
  CHECK(options.iterations == 1000 && options.warmup == 100 && options.time_limit_s <= 0.0);
  CHECK(options.sizes_bytes.size() == 24 && options.sizes_bytes.back() == 4 << 20);
  CHECK(parse_options(Arguments{}, plain, 100).sizes_bytes.back() == 64);
}

void test_given_options() {
  const Options options = parse(
      {"--sizes", "1K,0", "--iterations=7", "--warmup", "0", "--time-limit", "2.5", "--check"});
  CHECK(options.sizes_bytes == (std::vector<std::int64_t>{1024, 0}));
  CHECK(options.iterations == 7 && options.warmup == 0 && options.check && options.any_given);
  CHECK(options.time_limit_s > 2.4 && options.time_limit_s < 2.6);
  CHECK(parse({"--min-size", "8M"}).sizes_bytes == (std::vector<std::int64_t>{largest}));
  CHECK(parse({"--min-size=2", "--max-size=9"}).sizes_bytes ==
        (std::vector<std::int64_t>{2, 4, 8}));
}

void test_rejected() {
  CHECK(refuses({"--size", "1"}, "unknown argument \"--size\""));
  CHECK(refuses({"extra"}, "unknown argument \"extra\""));
  CHECK(refuses({"--sizes"}, "--sizes lacks its value"));
  CHECK(refuses({"--check=yes"}, "takes no value"));
  CHECK(refuses({"--check", "--check"}, "is a duplicate"));
  CHECK(refuses({"--sizes=1", "--max-size=2"}, "exclude each other"));
  CHECK(refuses({"--min-size=2", "--max-size=1"}, "is larger than"));
  CHECK(refuses({"--sizes=9M"}, "is too large"));
  for (const char* text : {"0", "-1", "1.5", "x", "", "1000000001"}) {
    CHECK(refuses({"--iterations", text}, "is not a number from 1 to 10^9"));
  }
  for (const char* text : {"0", "-1", "nan", "inf", "x", ""}) {
    CHECK(refuses({"--time-limit", text}, "is not a time"));
  }
}

void test_benchmark_options() {
  const Options all = parse({}, varied);
  CHECK(all.choices == (std::vector<std::size_t>{0, 1}));
  CHECK(all.amounts == (std::vector<std::int64_t>{0, 16}));
  CHECK(all.sizes_bytes.front() == 0 && all.sizes_bytes[1] == 4);
  const Options some = parse({"--sync", "fence", "--queued=99,0", "--sizes", "8,0"}, varied);
  CHECK(some.choices == std::vector<std::size_t>{1});
  CHECK(some.amounts == (std::vector<std::int64_t>{99, 0}));
  CHECK(parse({}, unsized).sizes_bytes == std::vector<std::int64_t>{0});

  CHECK(refuses({"--sync", "lock"}, "unknown argument \"--sync\""));
  CHECK(refuses({"--"}, "unknown argument \"--\"", varied));
  CHECK(refuses({"--sync", "locks"}, "\"locks\" is none of lock, fence", varied));
  CHECK(refuses({"--sync", "lock,lock"}, "contains a duplicate", varied));
  for (const char* text : {"100", "-1", "", "1,", "x", "1,1"}) {
    CHECK(refuses({"--queued", text}, "--queued", varied));
  }
  CHECK(refuses({"--sizes", "6"}, "6 is no multiple of 4 bytes", varied));
  CHECK(refuses({"--min-size", "1", "--max-size", "2"}, "accepts no size", varied));
  CHECK(refuses({"--sizes", "8"}, "has no message size", unsized));
}

void test_rounds() {
  CHECK(parse({}, in_rounds).rounds == 0 && parse({}, in_rounds).block == 0);
  const Options given = parse({"--rounds=3", "--block", "7"}, in_rounds);
  CHECK(given.rounds == 3 && given.block == 7);
  CHECK(refuses({"--rounds", "3"}, "unknown argument \"--rounds\""));
  CHECK(refuses({"--rounds", "0"}, "is not a number from 1", in_rounds));
  CHECK(refuses({"--block", "-1"}, "is not a number from 0", in_rounds));
}

}  // namespace

int main() {
  test_benchmark_options();
  test_defaults();
  test_given_options();
  test_rejected();
  test_rounds();
  return check::result();
}
