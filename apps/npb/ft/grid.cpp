// SPDX-License-Identifier: Apache-2.0
#include "npb/ft/grid.hpp"

#include <algorithm>

#include "npb/driver/ranks.hpp"

namespace fabricbench::npb::ft {
namespace {

/// Lines that the transforms process at a time (fft_m). A rank holds at least this many
/// neighbouring lines.
constexpr int lanes = 8;

int most_p1(const Points& n) {
  return std::min(n[0], n[1]) / lanes;
}

int most_p2(const Points& n) {
  return std::min(n[1], n[2]);
}

}  // namespace

Points points(char problem_class) {
  switch (problem_class) {
    case 'W':
      return {128, 128, 32};
    case 'A':
      return {256, 256, 128};
    case 'B':
      return {512, 256, 256};
    case 'C':
      return {512, 512, 512};
    case 'D':
      return {2048, 1024, 1024};
    default:
      return {64, 64, 64};
  }
}

std::string refusal(char problem_class, int ranks, std::string_view layout) {
  const Points n = points(problem_class);
  const bool slabs = layout == "1d";
  const int most = layout == "0d" ? 1 : slabs ? most_p2(n) : most_p1(n) * most_p2(n);
  std::string what = std::string("FT class ") + problem_class;
  if (layout != "auto") what += " with --layout " + std::string(layout);
  const std::string refused = refuse_ranks(what, ranks, 1, most);
  if (refused.empty()) return "";
  if (most == 1) {
    return what + " on " + std::to_string(ranks) + " ranks; expected 1; leave --layout out";
  }
  return refused + (slabs ? ", or with --layout 2d" : "");
}

Grid process_grid(char problem_class, int ranks, std::string_view layout) {
  const Points n = points(problem_class);
  if (layout != "2d") {
    if (ranks <= n[2]) return {.p1 = 1, .p2 = ranks};
    return {.p1 = n[2], .p2 = ranks / n[2]};  // NASA's grid
  }
  // The grid is as square as possible, so that few ranks take part in each exchange.
  int p1 = 1;
  while (p1 * p1 < ranks || ranks / p1 > most_p2(n)) p1 *= 2;
  p1 = std::min(p1, most_p1(n));
  return {.p1 = p1, .p2 = ranks / p1};
}

}  // namespace fabricbench::npb::ft
