// SPDX-License-Identifier: Apache-2.0
#include "npb/driver/options.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "common/usage_error.hpp"

namespace fabricbench::npb {
namespace {

constexpr std::string_view classes = "SWABCD";

std::string join(std::span<const std::string_view> words) {
  std::string text;
  for (const std::string_view word : words) text += (text.empty() ? "" : ", ") + std::string(word);
  return text;
}

char parse_class(std::string_view text) {
  if (text.size() == 1 && classes.find(text.front()) != std::string_view::npos) return text.front();
  throw UsageError("--class: \"" + std::string(text.substr(0, 40)) +
                   "\" is no class; expected one of S, W, A, B, C, D");
}

std::string parse_layout(std::string_view text, const Kernel& kernel) {
  if (std::ranges::find(kernel.layouts, text) != kernel.layouts.end()) return std::string(text);
  throw UsageError("--layout: \"" + std::string(text.substr(0, 40)) + "\" is none of " +
                   std::string(kernel.name) + "'s layouts; expected one of " +
                   join(kernel.layouts));
}

std::string numbers(std::span<const int> values) {
  std::string text;
  for (const int value : values) text += (text.empty() ? "" : ", ") + std::to_string(value);
  return text;
}

int parse_buckets(std::string_view text, const Kernel& kernel) {
  for (const int buckets : kernel.buckets) {
    if (text == std::to_string(buckets)) return buckets;
  }
  throw UsageError("--buckets: \"" + std::string(text.substr(0, 40)) +
                   "\" is no number of buckets; expected one of " + numbers(kernel.buckets));
}

std::int64_t parse_bytes(std::string_view text) {
  std::int64_t bytes = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, bytes);
  if (error != std::errc{} || stop != end || bytes < 1) {
    throw UsageError("--memory: \"" + std::string(text.substr(0, 40)) +
                     "\" is not a number of bytes; expected a whole number from 1");
  }
  return bytes;
}

}  // namespace

Options parse_options(std::span<const char* const> arguments, const Kernel& kernel) {
  Options options;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view argument = arguments[i];
    const std::size_t equals = argument.find('=');
    const std::string name(argument.substr(0, equals));
    if (name == "--timers" && equals == std::string_view::npos) {
      options.timers = true;
      continue;
    }
    const bool known = name == "--class" || name == "--layout" || name == "--memory" ||
                       (name == "--buckets" && !kernel.buckets.empty());
    if (!known) {
      throw UsageError("unknown argument \"" + std::string(argument.substr(0, 40)) +
                       "\"; see --help");
    }
    std::string_view value;
    if (equals != std::string_view::npos) {
      value = argument.substr(equals + 1);
    } else if (i + 1 < arguments.size()) {
      value = arguments[++i];
    } else {
      throw UsageError(name + " lacks its value; see --help");
    }
    if (name == "--class") options.problem_class = parse_class(value);
    if (name == "--layout") options.layout = parse_layout(value, kernel);
    if (name == "--buckets") options.buckets = parse_buckets(value, kernel);
    if (name == "--memory") options.memory_bytes = parse_bytes(value);
  }
  if (options.problem_class == 0) {
    throw UsageError("no class is given; expected --class with one of S, W, A, B, C, D");
  }
  return options;
}

std::string options_help(const Kernel& kernel) {
  return "  --class CLASS    NASA's problem class: S, W, A, B, C, D\n"
         "  --timers         time the phases of the run, with separate totals for communication\n"
         "  --layout LAYOUT  decomposition: " +
         join(kernel.layouts) + "\n" +
         (kernel.buckets.empty()
              ? ""
              : "  --buckets N      buckets of keys: " + numbers(kernel.buckets) +
                    "; default: NASA's of the class\n") +
         "  --memory BYTES   memory limit for all ranks of a node; default: its available memory\n"
         "\n"
         "FABRICBENCH_NPB_FAULT=state perturbs one element, so that the verification must fail.\n"
         "Exit status: 0 verified, 1 wrong answer, 2 bad input.\n";
}

bool parse_fault(const char* text) {
  if (text == nullptr) return false;
  if (std::strcmp(text, "state") == 0) return true;
  throw UsageError("FABRICBENCH_NPB_FAULT: \"" + std::string(text).substr(0, 40) +
                   "\" is no fault; expected state");
}

}  // namespace fabricbench::npb
