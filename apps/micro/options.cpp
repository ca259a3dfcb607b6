// SPDX-License-Identifier: Apache-2.0
#include "micro/options.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "common/usage_error.hpp"
#include "micro/msg_sizes.hpp"

namespace fabricbench::micro {
namespace {

constexpr std::int64_t default_largest_size = 4 << 20;
constexpr std::int64_t most_iterations = 1'000'000'000;

/// Options as given, before ranges are combined.
struct Given {
  std::optional<std::string_view> sizes, min_size, max_size, iterations, warmup, time_limit, check;
};

std::optional<std::string_view>* find_option(Given& given, std::string_view name) {
  if (name == "--sizes") return &given.sizes;
  if (name == "--min-size") return &given.min_size;
  if (name == "--max-size") return &given.max_size;
  if (name == "--iterations") return &given.iterations;
  if (name == "--warmup") return &given.warmup;
  if (name == "--time-limit") return &given.time_limit;
  if (name == "--check") return &given.check;
  return nullptr;
}

/// Splits the arguments into names and values.
Given collect(std::span<const char* const> arguments) {
  Given given;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view argument = arguments[i];
    const std::size_t equals = argument.find('=');
    const std::string name(argument.substr(0, equals));
    std::optional<std::string_view>* const slot = find_option(given, name);
    if (slot == nullptr) throw UsageError("unknown argument \"" + name + "\"; see --help");
    if (slot->has_value()) throw UsageError(name + " is given twice; give it once");
    const bool has_value = equals != std::string_view::npos;
    if (slot == &given.check) {
      if (has_value) throw UsageError("--check takes no value; leave out \"=\" and what follows");
      *slot = "";
    } else if (has_value) {
      *slot = argument.substr(equals + 1);
    } else if (i + 1 < arguments.size()) {
      *slot = arguments[++i];
    } else {
      throw UsageError(name + " lacks its value; see --help");
    }
  }
  return given;
}

template <class Number>
Number parse_number(std::string_view option, std::string_view text, Number least, Number most,
                    const char* expected) {
  Number number{};
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  // Written so that a floating-point NaN fails, too.
  if (error != std::errc{} || rest != end || !(number >= least && number <= most)) {
    throw UsageError(std::string(option) + ": \"" + std::string(text) + "\" is not " + expected);
  }
  return number;
}

std::vector<std::int64_t> choose_sizes(const Given& given, std::int64_t largest) {
  if (given.sizes) {
    if (given.min_size || given.max_size) {
      throw UsageError("--sizes and --min-size or --max-size exclude each other; give one form");
    }
    return parse_size_list("--sizes", *given.sizes, largest);
  }
  const std::int64_t first =
      given.min_size ? parse_size("--min-size", *given.min_size, largest) : 0;
  const std::int64_t last = given.max_size
                                ? parse_size("--max-size", *given.max_size, largest)
                                : std::max(first, std::min(default_largest_size, largest));
  if (first > last) {
    throw UsageError("--min-size " + std::to_string(first) + " is larger than --max-size " +
                     std::to_string(last) + "; exchange them");
  }
  return doubling_sizes(first, last);
}

}  // namespace

Options parse_options(std::span<const char* const> arguments, std::int64_t largest_size_bytes) {
  if (arguments.empty()) {
    throw UsageError("no benchmark is named; give one as first argument, see --help");
  }
  Options options;
  options.benchmark = arguments.front();
  const Given given = collect(arguments.subspan(1));
  options.any_given = arguments.size() > 1;
  options.sizes_bytes = choose_sizes(given, largest_size_bytes);
  if (given.iterations) {
    options.iterations = parse_number<std::int64_t>("--iterations", *given.iterations, 1,
                                                    most_iterations, "a number from 1 to 10^9");
  }
  if (given.warmup) {
    options.warmup = parse_number<std::int64_t>("--warmup", *given.warmup, 0, most_iterations,
                                                "a number from 0 to 10^9");
  }
  if (given.time_limit) {
    options.time_limit_s = parse_number<double>("--time-limit", *given.time_limit, 1e-6, 1e6,
                                                "a time from 1e-6 to 1e6 seconds");
  }
  options.check = given.check.has_value();
  return options;
}

std::string_view options_help() {
  return R"(
options of a benchmark that sends messages (--name value or --name=value):
  --sizes LIST       message sizes, comma-separated bytes; suffixes K or KiB = 2^10, M or MiB = 2^20
  --min-size B       first size (0); doubled up to
  --max-size B       largest size (4MiB). No size may exceed 2^31-1 or a quarter of the memory
  --iterations N     timed iterations for sizes up to 64 KiB (1000); above, max(min(N,10), N*64KiB/size)
  --warmup N         dropped iterations before them (100); above 64 KiB scaled alike, at least min(N,2)
  --time-limit S     seconds per size (none): fewer iterations, but at least min(N,10), if a pilot of four
                     iterations says that they would take longer
  --check            checked mode: every byte of every message is verified on arrival; not for timing

environment:
  FABRICBENCH_EXPECT_RANKS=N        exit 2 unless MPI_COMM_WORLD has N ranks (a wrong PMI gives N worlds of one)
  FABRICBENCH_MICRO_FAULT=...       for tests of the harness only, injects a fault:
      flip       rank 0 corrupts one byte of the first verified message of each size: exit 1
      hang       rank 0 sleeps forever after the first size
      slow:US    every reported value becomes US microseconds larger

output: lines #@key=value and CSV; last line #@end=ok (failed: a wrong answer; absent: truncated).
exit code: 0 verified, 1 wrong answer, 2 bad input.
)";
}

}  // namespace fabricbench::micro
