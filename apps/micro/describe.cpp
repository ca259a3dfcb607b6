// SPDX-License-Identifier: Apache-2.0
#include "micro/describe.hpp"

#include <unistd.h>

#include <array>
#include <string>
#include <string_view>

#include "common/json.h"
#include "timing/mark.hpp"

namespace fabricbench::micro {
namespace {

// Each function writes a value with its key. In an array the key is null.
void write(struct json* out, const char* key, std::string_view text) {
  json_string(out, key, std::string(text).c_str());
}
void write(struct json* out, const char* key, std::int64_t number) {
  json_unsigned(out, key, static_cast<std::uint64_t>(number));
}
void write(struct json* out, const char* key, bool truth) {
  json_bool(out, key, truth);
}

void write(struct json* out, const char* key, const Metric& metric) {
  json_begin_object(out, key);
  write(out, "name", metric.name);
  write(out, "bandwidth", metric.bandwidth);
  json_end_object(out);
}
void write(struct json* out, const char* key, const Quantity& quantity) {
  write(out, key, quantity.metric);
}
void write(struct json* out, const char* key, const Picture& picture);

template <class Items>
void write_list(struct json* out, const char* key, const Items& items) {
  json_begin_array(out, key);
  for (const auto& item : items) write(out, nullptr, item);
  json_end_array(out);
}

void write(struct json* out, const char* key, const Picture& picture) {
  json_begin_object(out, key);
  write(out, "metric", picture.metric);
  write(out, "only", picture.only);
  write(out, "over", picture.over);
  write_list(out, "sizes", picture.sizes);
  json_end_object(out);
}
void write(struct json* out, const char* key, const Choice& choice) {
  if (choice.key.empty()) return json_null(out, key);
  json_begin_object(out, key);
  write(out, "key", choice.key);
  write_list(out, "values", choice.words);
  json_end_object(out);
}
void write(struct json* out, const char* key, const Amount& amount) {
  if (amount.key.empty()) return json_null(out, key);
  json_begin_object(out, key);
  write(out, "key", amount.key);
  write_list(out, "defaults", amount.defaults);
  write(out, "least", amount.least);
  write(out, "most", amount.most);
  json_end_object(out);
}
void write(struct json* out, const char* key, const Held& held) {
  json_begin_object(out, key);
  write(out, "messages", held.messages);
  write(out, "per_rank", held.per_rank);
  json_end_object(out);
}
void write(struct json* out, const char* key, const Section& section) {
  if (section.key.empty()) return json_null(out, key);
  json_begin_object(out, key);
  write(out, "key", section.key);
  write(out, "title", section.title);
  write(out, "note", section.note);
  write(out, "place", section.place);
  json_end_object(out);
}

std::string_view word(Ranks ranks) {
  switch (ranks) {
    case Ranks::pairs:
      return "pairs";
    case Ranks::two_or_more:
      return "two_or_more";
    case Ranks::any:
      return "any";
  }
  return "";
}

void write(struct json* out, const char* key, const Benchmark& benchmark) {
  const auto& [choice, amount, sized, size_unit, rounds] = benchmark.dimensions;
  json_begin_object(out, key);
  write(out, "name", benchmark.name);
  write(out, "summary", benchmark.summary);
  write(out, "ranks", word(benchmark.ranks));
  write(out, "sized", sized && benchmark.sends_messages());
  write(out, "size_unit", size_unit);
  write(out, "adaptive", benchmark.adaptive);
  write(out, "rounds", rounds);
  write(out, "choice", choice);
  write(out, "amount", amount);
  write_list(out, "samples", benchmark.quantities);
  write_list(out, "metrics", benchmark.metrics);
  write(out, "base", benchmark.base);
  write(out, "role", benchmark.role);
  write(out, "held", benchmark.held);
  write(out, "section", benchmark.figure.section);
  write_list(out, "pictures", benchmark.figure.pictures);
  json_end_object(out);
}

}  // namespace

void describe(std::span<const Benchmark* const> benchmarks) {
  std::array<char, 4096> buffer{};
  constexpr unsigned lines = 3;  // down to the members of a benchmark
  struct json out{.sink = sink_to(STDOUT_FILENO, buffer.data(), buffer.size()),
                  .comma = false,
                  .depth = 0,
                  .lines = lines};
  json_begin_object(&out, nullptr);
  write(&out, "schema", std::int64_t{2});
  write(&out, "barriers_per_calibration", std::int64_t{timing::barriers_per_calibration});
  json_begin_array(&out, "benchmarks");
  for (const Benchmark* benchmark : benchmarks) write(&out, nullptr, *benchmark);
  json_end_array(&out);
  json_end_object(&out);
  sink_char(&out.sink, '\n');
  sink_flush(&out.sink);
}

}  // namespace fabricbench::micro
