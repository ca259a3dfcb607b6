// SPDX-License-Identifier: Apache-2.0
#include "micro/labels.hpp"

#include <algorithm>

namespace fabricbench::micro {

std::string fact_label(const Benchmark& benchmark, std::string_view metric, const Point& point,
                       std::string_view case_name) {
  std::string text;
  const auto add = [&](std::string_view part) {
    if (!text.empty() && !part.empty()) text.append(".");
    text.append(part);
  };
  if (benchmark.quantities.size() > 1) add(metric);
  // An equals sign ends a key.
  std::string in_key(case_name);
  std::replace(in_key.begin(), in_key.end(), '=', ':');
  std::replace(in_key.begin(), in_key.end(), ' ', ',');
  add(in_key);
  if (benchmark.dimensions.sized) add(std::to_string(point.msg_size));
  return text.empty() ? "all" : text;
}

std::string interval_label(const Benchmark& benchmark, std::string_view metric, const Part& part,
                           const Point& point, int ranks) {
  Words more;
  if (part.turns(point) > 1) more["turn"] = std::to_string(point.turn);
  return fact_label(benchmark, metric, point, benchmark.case_name(point, ranks, more));
}

}  // namespace fabricbench::micro
