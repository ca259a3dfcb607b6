// SPDX-License-Identifier: Apache-2.0
#include "micro/options.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <map>
#include <optional>

#include "common/usage_error.hpp"
#include "micro/msg_sizes.hpp"

namespace fabricbench::micro {
namespace {

constexpr std::int64_t default_largest_size = 4 << 20;
constexpr std::int64_t most_iterations = 1'000'000'000;
constexpr std::int64_t most_rounds = 1'000'000;

/// The values of the options by name, as text.
using Given = std::map<std::string, std::string_view, std::less<>>;

constexpr std::array common_names{"--sizes",      "--min-size", "--max-size",
                                  "--iterations", "--warmup",   "--time-limit"};

bool takes_value(std::string_view name, const Dimensions& dimensions) {
  const auto is_dimension = [&](std::string_view key) {
    return !key.empty() && name == "--" + std::string(key);
  };
  return std::find(common_names.begin(), common_names.end(), name) != common_names.end() ||
         is_dimension(dimensions.choice.key) || is_dimension(dimensions.amount.key) ||
         (dimensions.rounds && (name == "--rounds" || name == "--block"));
}

/// Splits the arguments into names and values.
Given collect(std::span<const char* const> arguments, const Dimensions& dimensions) {
  Given given;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view argument = arguments[i];
    const std::size_t equals = argument.find('=');
    const std::string name(argument.substr(0, equals));
    const bool flag = name == "--check";
    if (!flag && !takes_value(name, dimensions)) {
      throw UsageError("unknown argument \"" + name + "\"; see --help");
    }
    if (given.contains(name)) throw UsageError(name + " is a duplicate; give it once");
    const bool has_value = equals != std::string_view::npos;
    if (flag) {
      if (has_value) throw UsageError("--check takes no value; remove \"=\" and the text after it");
      given[name] = "";
    } else if (has_value) {
      given[name] = argument.substr(equals + 1);
    } else if (i + 1 < arguments.size()) {
      given[name] = arguments[++i];
    } else {
      throw UsageError(name + " lacks its value; see --help");
    }
  }
  return given;
}

std::optional<std::string_view> find(const Given& given, std::string_view name) {
  const auto found = given.find(name);
  return found == given.end() ? std::nullopt : std::optional(found->second);
}

template <class Number>
Number parse_number(std::string_view option, std::string_view text, Number least, Number most,
                    const char* expected) {
  Number number{};
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  // The negated comparison makes NaN fail.
  if (error != std::errc{} || rest != end || !(number >= least && number <= most)) {
    throw UsageError(std::string(option) + ": \"" + std::string(text) + "\" is not " + expected);
  }
  return number;
}

std::vector<std::int64_t> choose_sizes(const Given& given, std::int64_t largest) {
  const auto min_size = find(given, "--min-size");
  const auto max_size = find(given, "--max-size");
  if (const auto sizes = find(given, "--sizes")) {
    if (min_size || max_size) {
      throw UsageError("--sizes and --min-size or --max-size exclude each other; give one form");
    }
    return parse_size_list("--sizes", *sizes, largest);
  }
  const std::int64_t first = min_size ? parse_size("--min-size", *min_size, largest) : 0;
  const std::int64_t last = max_size ? parse_size("--max-size", *max_size, largest)
                                     : std::max(first, std::min(default_largest_size, largest));
  if (first > last) {
    throw UsageError("--min-size " + std::to_string(first) + " is larger than --max-size " +
                     std::to_string(last) + "; exchange them");
  }
  return doubling_sizes(first, last);
}

/// Returns the sizes to measure. Throws UsageError if a size of --sizes is no multiple of the
/// benchmark's unit; omits such sizes between --min-size and --max-size.
std::vector<std::int64_t> fitting_sizes(const Given& given, const Dimensions& dimensions,
                                        std::int64_t largest) {
  const bool any_given =
      find(given, "--sizes") || find(given, "--min-size") || find(given, "--max-size");
  if (!dimensions.sized) {
    if (any_given) throw UsageError("--sizes: this benchmark has no message size; leave it out");
    return {0};
  }
  std::vector<std::int64_t> sizes = choose_sizes(given, largest);
  const auto odd = [&](std::int64_t size) { return size % dimensions.size_unit != 0; };
  if (find(given, "--sizes")) {
    if (const auto found = std::find_if(sizes.begin(), sizes.end(), odd); found != sizes.end()) {
      throw UsageError("--sizes: " + std::to_string(*found) + " is no multiple of " +
                       std::to_string(dimensions.size_unit) +
                       " bytes, which this benchmark works on");
    }
  }
  std::erase_if(sizes, odd);
  if (sizes.empty())
    throw UsageError("--max-size: this benchmark accepts no size in the range; give a larger one");
  return sizes;
}

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t comma = text.find(',');
    parts.push_back(text.substr(0, comma));
    if (comma == std::string_view::npos) return parts;
    text.remove_prefix(comma + 1);
  }
}

/// Appends `value`. Throws UsageError if the list contains it.
template <class Value>
void add_once(std::vector<Value>& values, Value value, const std::string& option,
              std::string_view text) {
  if (std::find(values.begin(), values.end(), value) != values.end()) {
    throw UsageError(option + ": \"" + std::string(text) +
                     "\" contains a duplicate; give each value once");
  }
  values.push_back(value);
}

std::vector<std::size_t> choose_words(const Given& given, const Choice& choice) {
  std::vector<std::size_t> chosen;
  const std::string option = "--" + std::string(choice.key);
  const auto text = find(given, option);
  if (!text) {
    for (std::size_t i = 0; i < std::max<std::size_t>(1, choice.words.size()); ++i)
      chosen.push_back(i);
    return chosen;
  }
  for (const std::string_view word : split(*text)) {
    const auto found = std::find(choice.words.begin(), choice.words.end(), word);
    if (found == choice.words.end()) {
      std::string known;
      for (const std::string_view one : choice.words)
        known.append(known.empty() ? "" : ", ").append(one);
      throw UsageError(option + ": \"" + std::string(word) + "\" is none of " + known);
    }
    add_once(chosen, static_cast<std::size_t>(found - choice.words.begin()), option, *text);
  }
  return chosen;
}

std::vector<std::int64_t> choose_amounts(const Given& given, const Amount& amount) {
  if (amount.key.empty()) return {0};
  const std::string option = "--" + std::string(amount.key);
  const auto text = find(given, option);
  if (!text) return {amount.defaults.begin(), amount.defaults.end()};
  std::vector<std::int64_t> chosen;
  const std::string expected =
      "a number from " + std::to_string(amount.least) + " to " + std::to_string(amount.most);
  for (const std::string_view part : split(*text)) {
    add_once(chosen,
             parse_number<std::int64_t>(option, part, amount.least, amount.most, expected.c_str()),
             option, *text);
  }
  return chosen;
}

}  // namespace

Options parse_options(std::span<const char* const> arguments, const Dimensions& dimensions,
                      std::int64_t largest_size_bytes) {
  const Given given = collect(arguments, dimensions);
  Options options;
  options.any_given = !arguments.empty();
  options.sizes_bytes = fitting_sizes(given, dimensions, largest_size_bytes);
  options.choices = choose_words(given, dimensions.choice);
  options.amounts = choose_amounts(given, dimensions.amount);
  if (const auto iterations = find(given, "--iterations")) {
    options.iterations = parse_number<std::int64_t>("--iterations", *iterations, 1, most_iterations,
                                                    "a number from 1 to 10^9");
  }
  if (const auto warmup = find(given, "--warmup")) {
    options.warmup = parse_number<std::int64_t>("--warmup", *warmup, 0, most_iterations,
                                                "a number from 0 to 10^9");
  }
  if (const auto time_limit = find(given, "--time-limit")) {
    options.time_limit_s = parse_number<double>("--time-limit", *time_limit, 1e-6, 1e6,
                                                "a time from 1e-6 to 1e6 seconds");
  }
  if (const auto rounds = find(given, "--rounds")) {
    options.rounds =
        parse_number<std::int64_t>("--rounds", *rounds, 1, most_rounds, "a number from 1 to 10^6");
  }
  if (const auto block = find(given, "--block")) {
    options.block = parse_number<std::int64_t>("--block", *block, 0, most_iterations,
                                               "a number from 0 to 10^9");
  }
  options.check = find(given, "--check").has_value();
  return options;
}

std::string_view options_help() {
  return R"(
options of a benchmark that sends messages (--name value or --name=value):
  --sizes LIST       message sizes, comma-separated bytes; suffixes K or KiB = 2^10, M or MiB = 2^20
  --min-size B       first size (0); doubled up to
  --max-size B       largest size (4MiB). No size may exceed 2^31-1 or a quarter of the memory
  --iterations N     timed iterations for sizes up to 64 KiB (1000); above, max(min(N,10), N*64KiB/size)
  --warmup N         untimed iterations before them (100); above 64 KiB scaled in the same way, at least min(N,2)
  --time-limit S     seconds per size (none); a pilot of four iterations estimates how many fit, at least min(N,10)
  --check            checked mode: every byte of every message is verified on arrival; not for timing
)";
}

}  // namespace fabricbench::micro
