// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <string_view>

#include "check.hpp"
#include "npb/ft/grid.hpp"

namespace {

using namespace fabricbench::npb::ft;

/// Returns whether the layout accepts all powers of two up to `most` and rejects twice `most`.
bool takes_up_to(char problem_class, std::string_view layout, int most) {
  for (int ranks = 1; ranks <= most; ranks *= 2) {
    if (!refusal(problem_class, ranks, layout).empty()) return false;
  }
  return !refusal(problem_class, 2 * most, layout).empty();
}

/// Returns whether the grid divides the points evenly and leaves every rank whole chunks: `width`
/// neighbours in x (before the transform along x in y) times `depth` neighbours in z (in the
/// spectrum in y), whose product is 8 (layout_m).
bool divides(char problem_class, int ranks, std::string_view layout) {
  const Points n = points(problem_class);
  const Grid grid = process_grid(problem_class, ranks, layout);
  const int width = std::min({8, n[0] / grid.p1, n[1] / grid.p1});
  const int depth = width > 0 ? 8 / width : 0;
  return grid.p1 * grid.p2 == ranks && depth > 0 && n[0] % (width * grid.p1) == 0 &&
         n[1] % (width * grid.p1) == 0 && n[1] % (depth * grid.p2) == 0 &&
         n[2] % (depth * grid.p2) == 0;
}

bool is_grid(Grid grid, int p1, int p2) {
  return grid.p1 == p1 && grid.p2 == p2;
}

}  // namespace

int main() {
  // Slabs allow min(ny, nz) ranks; pencils allow min(nx, ny) / 8 times as many.
  CHECK(takes_up_to('S', "0d", 1));
  CHECK(takes_up_to('S', "1d", 64));
  CHECK(takes_up_to('S', "2d", 512));
  CHECK(takes_up_to('S', "auto", 512));
  CHECK(takes_up_to('W', "1d", 32));
  CHECK(takes_up_to('W', "auto", 512));
  CHECK(takes_up_to('A', "1d", 128));
  CHECK(takes_up_to('A', "auto", 4096));
  CHECK(takes_up_to('B', "auto", 8192));
  CHECK(takes_up_to('C', "auto", 32768));
  CHECK(takes_up_to('D', "auto", 131072));

  for (const char problem_class : std::string("SWABCD")) {
    for (const std::string_view layout : {"auto", "1d", "2d"}) {
      for (int ranks = 1; refusal(problem_class, ranks, layout).empty(); ranks *= 2) {
        CHECK(divides(problem_class, ranks, layout));
      }
    }
  }

  // As NASA's program: slabs up to nz ranks, then pencils on a grid of nz by ranks / nz. With 2d
  // the grid is nearly square.
  CHECK(is_grid(process_grid('S', 1, "auto"), 1, 1));
  CHECK(is_grid(process_grid('S', 64, "auto"), 1, 64));
  CHECK(is_grid(process_grid('S', 128, "auto"), 64, 2));
  CHECK(is_grid(process_grid('S', 512, "auto"), 64, 8));
  CHECK(is_grid(process_grid('W', 32, "auto"), 1, 32));
  CHECK(is_grid(process_grid('W', 64, "auto"), 32, 2));
  CHECK(is_grid(process_grid('A', 4096, "auto"), 128, 32));
  CHECK(is_grid(process_grid('B', 512, "auto"), 256, 2));
  CHECK(is_grid(process_grid('D', 131072, "auto"), 1024, 128));
  CHECK(is_grid(process_grid('S', 128, "2d"), 8, 16));
  CHECK(is_grid(process_grid('S', 512, "2d"), 8, 64));
  CHECK(is_grid(process_grid('W', 512, "2d"), 16, 32));
  CHECK(is_grid(process_grid('A', 2, "2d"), 2, 1));
  CHECK(is_grid(process_grid('A', 4, "2d"), 2, 2));
  CHECK(is_grid(process_grid('A', 8, "2d"), 4, 2));
  CHECK(is_grid(process_grid('A', 4, "1d"), 1, 4));

  CHECK(refusal('S', 3, "auto") ==
        "FT class S on 3 ranks; expected a power of two from 1 to 512; change the number of ranks");
  CHECK(refusal('S', 128, "1d") ==
        "FT class S with --layout 1d on 128 ranks; expected a power of two from 1 to 64; "
        "change the number of ranks, or with --layout 2d");
  CHECK(refusal('S', 2, "0d") ==
        "FT class S with --layout 0d on 2 ranks; expected 1; leave --layout out");
  return check::result();
}
