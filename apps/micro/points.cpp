// SPDX-License-Identifier: Apache-2.0
#include "micro/points.hpp"

namespace fabricbench::micro {

std::vector<Points> all_points(Order order, const Options& options) {
  std::vector<Points> groups;
  for (const std::int64_t size : options.sizes_bytes) {
    for (const Point& point : points_of_size(size, options)) groups.push_back({point});
  }
  if (order == Order::by_size) return groups;
  std::vector<Points> by_amount;
  for (const std::int64_t amount : options.amounts) {
    Points& points = by_amount.emplace_back();
    for (const Points& group : groups) {
      if (group.front().amount == amount) points.push_back(group.front());
    }
  }
  return by_amount;
}

Points points_of_size(std::int64_t size, const Options& options) {
  Points points;
  for (const std::size_t choice : options.choices) {
    for (const std::int64_t amount : options.amounts)
      points.push_back({.msg_size = static_cast<int>(size), .choice = choice, .amount = amount});
  }
  return points;
}

}  // namespace fabricbench::micro
