// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "check.hpp"
#include "common/usage_error.hpp"
#include "npb/driver/options.hpp"

using namespace fabricbench::npb;

namespace {

constexpr std::array<std::string_view, 3> layouts{"auto", "1d", "2d"};
constexpr std::array buckets{64, 128};
constexpr Kernel some_kernel{.name = "KK",
                             .operation = "nothing",
                             .layouts = layouts,
                             .buckets = buckets,
                             .phases = {},
                             .size = nullptr,
                             .iterations = nullptr,
                             .refusal = nullptr,
                             .bytes_per_rank = nullptr,
                             .parameters = nullptr,
                             .run = nullptr};

using Arguments = std::vector<const char*>;

Kernel without_buckets() {
  Kernel kernel = some_kernel;
  kernel.buckets = {};
  return kernel;
}

Options parse(const Arguments& arguments) {
  return parse_options(arguments, some_kernel);
}

bool refuses(const Arguments& arguments, const std::string& part) {
  return check::throws<fabricbench::UsageError>([&] { static_cast<void>(parse(arguments)); }, part);
}

void test_accepted() {
  for (const char* const name : {"S", "W", "A", "B", "C", "D"}) {
    const Options options = parse({"--class", name});
    CHECK(options.problem_class == name[0] && !options.timers && options.layout == "auto" &&
          options.buckets == 0 && !options.memory_bytes);
  }
  const Options all = parse({"--timers", "--layout=2d", "--memory", "123456789012", "--class=A"});
  CHECK(all.problem_class == 'A' && all.timers && all.layout == "2d");
  CHECK(all.memory_bytes == 123456789012);
  CHECK(parse({"--class", "S", "--buckets", "128"}).buckets == 128);
}

void test_rejected() {
  CHECK(refuses({}, "no class is given"));
  CHECK(refuses({"--timers"}, "no class is given"));
  CHECK(refuses({"--class", "E"}, "\"E\" is no class; expected one of S, W, A, B, C, D"));
  CHECK(refuses({"--class", "s"}, "\"s\" is no class"));
  CHECK(refuses({"--class="}, "\"\" is no class"));
  CHECK(refuses({"--class", "SW"}, "\"SW\" is no class"));
  CHECK(refuses({"--class"}, "--class lacks its value"));
  CHECK(refuses({"--class", "S", "--layout", "3d"},
                "none of KK's layouts; expected one of auto, 1d"));
  CHECK(refuses({"--class", "S", "--timers=yes"}, "unknown argument \"--timers=yes\""));
  CHECK(refuses({"--class", "S", "more"}, "unknown argument \"more\""));
  for (const char* const bytes : {"0", "-1", "1.5", "1GB", "", "99999999999999999999"}) {
    CHECK(refuses({"--class", "S", "--memory", bytes}, "is not a number of bytes"));
  }
}

void test_buckets() {
  CHECK(refuses({"--class", "S", "--buckets", "512"},
                "--buckets: \"512\" is no number of buckets; expected one of 64, 128"));
  CHECK(refuses({"--class", "S", "--buckets"}, "--buckets lacks its value"));
  const Arguments arguments{"--class", "S", "--buckets", "64"};
  CHECK(check::throws<fabricbench::UsageError>(
      [&] { static_cast<void>(parse_options(arguments, without_buckets())); },
      "unknown argument \"--buckets\""));
  CHECK(options_help(some_kernel).find("--buckets N      buckets of keys: 64, 128") !=
        std::string::npos);
  CHECK(options_help(without_buckets()).find("--buckets") == std::string::npos);
}

void test_fault() {
  CHECK(!parse_fault(nullptr));
  CHECK(parse_fault("state"));
  for (const char* const fault : {"", "states", "key"}) {
    CHECK(check::throws<fabricbench::UsageError>([&] { static_cast<void>(parse_fault(fault)); },
                                                 "is no fault; expected state"));
  }
}

void test_help() {
  const std::string help = options_help(some_kernel);
  for (const char* const part : {"--class", "--timers", "auto, 1d, 2d", "--memory", "NPB_FAULT"}) {
    CHECK(help.find(part) != std::string::npos);
  }
}

}  // namespace

int main() {
  test_accepted();
  test_rejected();
  test_buckets();
  test_fault();
  test_help();
  return check::result();
}
