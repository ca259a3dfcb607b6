// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string>
#include <string_view>

/// Distribution of the points of FT over the ranks.
namespace fabricbench::npb::ft {

using Points = std::array<int, 3>;

/// nx, ny, nz of a NASA class.
[[nodiscard]] Points points(char problem_class);

/// p1 ranks divide x or y, p2 ranks divide y or z. Slabs if p1 is 1, else pencils.
struct Grid {
  int p1;
  int p2;
};

/// Returns why the class cannot run on `ranks` ranks with this layout (auto, 0d, 1d, 2d), or "".
[[nodiscard]] std::string refusal(char problem_class, int ranks, std::string_view layout);

/// Returns the grid of ranks. Precondition: refusal() returns "" for these arguments.
[[nodiscard]] Grid process_grid(char problem_class, int ranks, std::string_view layout);

}  // namespace fabricbench::npb::ft
