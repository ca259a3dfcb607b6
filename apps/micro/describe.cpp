// SPDX-License-Identifier: Apache-2.0
#include "micro/describe.hpp"

#include <algorithm>
#include <map>
#include <type_traits>
#include <utility>

#include "timing/mark.hpp"

namespace fabricbench::micro {
namespace {

std::string json(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + '"';
}
std::string json(std::int64_t number) {
  return std::to_string(number);
}
std::string json(bool truth) {
  return truth ? "true" : "false";
}

std::string json(const Metric& metric);
std::string json(const Picture& picture);

/// `[a, b]`, each item as `item_text` writes it.
template <class Items, class ItemText>
std::string json_list(const Items& items, ItemText item_text) {
  std::string text;
  for (const auto& item : items) text.append(text.empty() ? "" : ", ").append(item_text(item));
  return "[" + text + "]";
}
template <class Items>
std::string json_list(const Items& items) {
  return json_list(items, [](const auto& item) { return json(item); });
}

std::string json(const Choice& choice) {
  if (choice.key.empty()) return "null";
  return "{\"key\": " + json(choice.key) + ", \"values\": " + json_list(choice.words) + "}";
}
std::string json(const Amount& amount) {
  if (amount.key.empty()) return "null";
  return "{\"key\": " + json(amount.key) + ", \"defaults\": " + json_list(amount.defaults) +
         ", \"least\": " + json(amount.least) + ", \"most\": " + json(amount.most) + "}";
}
std::string json(const Metric& metric) {
  return "{\"name\": " + json(metric.name) + ", \"bandwidth\": " + json(metric.bandwidth) + "}";
}
std::string json(const Picture& picture) {
  return "{\"metric\": " + json(picture.metric) + ", \"only\": " + json(picture.only) +
         ", \"over\": " + json(picture.over) + ", \"sizes\": " + json_list(picture.sizes) + "}";
}
std::string json(const Section& section) {
  if (section.key.empty()) return "null";
  return "{\"key\": " + json(section.key) + ", \"title\": " + json(section.title) +
         ", \"note\": " + json(section.note) + ", \"place\": " + json(section.place) + "}";
}
std::string json(Ranks ranks) {
  switch (ranks) {
    case Ranks::pairs:
      return "\"pairs\"";
    case Ranks::two_or_more:
      return "\"two_or_more\"";
    case Ranks::any:
      return "\"any\"";
  }
  return "null";
}

std::string json(const Benchmark& benchmark) {
  const auto& [choice, amount, sized, size_unit, rounds] = benchmark.dimensions;
  const std::pair<std::string_view, std::string> members[]{
      {"name", json(benchmark.name)},
      {"summary", json(benchmark.summary)},
      {"ranks", json(benchmark.ranks)},
      {"sized", json(sized && benchmark.sends_messages())},
      {"size_unit", json(size_unit)},
      {"adaptive", json(benchmark.adaptive)},
      {"rounds", json(rounds)},
      {"choice", json(choice)},
      {"amount", json(amount)},
      {"samples",
       json_list(benchmark.quantities, [](const Quantity& one) { return json(one.metric); })},
      {"metrics", json_list(benchmark.metrics)},
      {"base", json(benchmark.base)},
      {"role", json(benchmark.role)},
      {"held", "{\"messages\": " + json(benchmark.held.messages) +
                   ", \"per_rank\": " + json(benchmark.held.per_rank) + "}"},
      {"section", json(benchmark.figure.section)},
      {"pictures", json_list(benchmark.figure.pictures)}};
  std::string text;
  for (const auto& [key, value] : members) {
    text.append(text.empty() ? "" : ",").append("\n      ").append(json(key)).append(": ");
    text.append(value);
  }
  return "    {" + text + "\n    }";
}

/// An option of single benchmarks: its meaning, its values and who takes it.
struct Option {
  std::string meaning;
  std::string values;
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

std::string describe(std::span<const Benchmark* const> benchmarks) {
  std::string records;
  for (const Benchmark* benchmark : benchmarks) {
    records.append(records.empty() ? "" : ",\n").append(json(*benchmark));
  }
  return "{\n  \"schema\": 2,\n  \"barriers_per_calibration\": " +
         std::to_string(timing::barriers_per_calibration) + ",\n  \"benchmarks\": [\n" + records +
         "\n  ]\n}\n";
}

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
      add(*benchmark, "block", "number of the block: each block measures the rounds that follow",
          "0");
    }
  }
  std::string text =
      "\noptions of single benchmarks; lists are measured one value after the other, the defaults\n"
      "are behind the benchmark's name:\n";
  for (const auto& [key, option] : options) {
    text.append("  --").append(key).append("  ").append(option.meaning).append("\n      ");
    text.append(option.benchmarks).append("\n");
  }
  return text;
}

}  // namespace fabricbench::micro
