// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string>
#include <string_view>

/// How FT distributes its points over ranks.
namespace fabricbench::npb::ft {

using Points = std::array<int, 3>;

/// nx, ny, nz of NASA's class.
[[nodiscard]] Points points(char problem_class);

/// p1 ranks share x or y, p2 share y or z. Slabs if p1 is 1.
struct Grid {
  int p1;
  int p2;
};

/// Why `ranks` cannot run the class with this layout (auto, 0d, 1d, 2d); empty if they can.
[[nodiscard]] std::string refusal(char problem_class, int ranks, std::string_view layout);

/// The grid of ranks for arguments for which refusal() is empty.
[[nodiscard]] Grid process_grid(char problem_class, int ranks, std::string_view layout);

}  // namespace fabricbench::npb::ft
