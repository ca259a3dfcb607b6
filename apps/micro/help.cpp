// SPDX-License-Identifier: Apache-2.0
#include "micro/help.hpp"

#include <algorithm>
#include <map>
#include <string_view>
#include <type_traits>

namespace fabricbench::micro {
namespace {

/// An option of some benchmarks: its meaning, and the benchmarks that accept it, with their
/// defaults.
struct Option {
  std::string meaning;
  std::string benchmarks;
};

template <class Items>
std::string comma_separated(const Items& items) {
  std::string text;
  for (const auto& item : items) {
    if (!text.empty()) text += ',';
    if constexpr (std::is_integral_v<std::decay_t<decltype(item)>>) {
      text += std::to_string(item);
    } else {
      text += item;
    }
  }
  return text;
}

}  // namespace

std::string list(std::span<const Benchmark* const> benchmarks) {
  constexpr std::size_t width = 15;
  std::string text;
  for (const Benchmark* benchmark : benchmarks) {
    std::string name(benchmark->name);
    name.resize(std::max(name.size(), width), ' ');
    text.append(name).append(" ").append(benchmark->summary).append("\n");
  }
  return text;
}

std::string own_options_help(std::span<const Benchmark* const> benchmarks) {
  std::map<std::string_view, Option> options;
  const auto add = [&](const Benchmark& benchmark, std::string_view key, std::string_view meaning,
                       const std::string& values) {
    Option& option = options[key];
    option.meaning = meaning;
    option.benchmarks.append(option.benchmarks.empty() ? "" : "; ");
    option.benchmarks.append(benchmark.name).append(" ").append(values);
  };
  for (const Benchmark* benchmark : benchmarks) {
    const auto& [choice, amount, sized, size_unit, rounds] = benchmark->dimensions;
    if (!choice.key.empty())
      add(*benchmark, choice.key, choice.meaning, comma_separated(choice.words));
    if (!amount.key.empty())
      add(*benchmark, amount.key, amount.meaning, comma_separated(amount.defaults));
    if (rounds) {
      add(*benchmark, "rounds", "rounds of disjoint rank pairs", "all");
      add(*benchmark, "block",
          "number of the block; each block measures the rounds after those of the previous block",
          "0");
    }
  }
  std::string text =
      "\noptions of some benchmarks; a list is measured one value after the other; the defaults "
      "follow\n"
      "the benchmark's name:\n";
  for (const auto& [key, option] : options) {
    text.append("  --").append(key).append("  ").append(option.meaning).append("\n      ");
    text.append(option.benchmarks).append("\n");
  }
  return text;
}

}  // namespace fabricbench::micro
