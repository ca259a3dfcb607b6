// SPDX-License-Identifier: Apache-2.0
//
// Tests the kernel's record: sizes, accepted rank counts and memory.
#include <cstdint>
#include <string>
#include <string_view>

#include "check.hpp"
#include "npb/driver/kernel.hpp"
#include "npb/driver/reference.hpp"

using namespace fabricbench::npb;

namespace {

constexpr std::string_view classes = "SWABCD";

Problem problem_of(char problem_class, int ranks) {
  return {.problem_class = problem_class, .ranks = ranks, .layout = "auto", .fault = false};
}

void check_refusals() {
  for (const char problem_class : classes) {
    for (int ranks = 1; ranks <= 1 << 20; ranks *= 2) {
      CHECK(kernel().refusal(problem_of(problem_class, ranks)).empty());
    }
    for (const int ranks : {3, 5, 6, 7, 12, 1000}) {
      CHECK(!kernel().refusal(problem_of(problem_class, ranks)).empty());
    }
  }
  CHECK(kernel().refusal(problem_of('S', 1 << 21)) ==
        "CG class S on 2097152 ranks; expected a power of two from 1 to 1048576; change the "
        "number of ranks");
  CHECK(kernel().refusal(problem_of('D', 1 << 21)).empty());
}

/// Returns the bytes that NPB 3.4 allocates: 28 per list element, 20 per row of the whole matrix,
/// and six vectors.
std::int64_t nasa_bytes(std::int64_t n, std::int64_t nonzeros, int ranks) {
  int grid_rows = 1;
  while (grid_rows * grid_rows * 4 <= ranks) grid_rows *= 2;
  const int grid_columns = ranks / grid_rows;
  const std::int64_t places = n * (nonzeros + 1) / ranks * (nonzeros + 1) + nonzeros +
                              n * (nonzeros + 2 + ranks / 256) / grid_columns;
  return 28 * places + 20 * n + 48 * (n / grid_rows);
}

void check_memory() {
  constexpr std::int64_t nonzeros[] = {7, 8, 11, 13, 15, 21};
  for (std::size_t i = 0; i < classes.size(); ++i) {
    std::int64_t before = INT64_MAX;
    for (int ranks = 1; ranks <= 1024; ranks *= 2) {
      const std::int64_t bytes = kernel().bytes_per_rank(problem_of(classes[i], ranks));
      CHECK(bytes > 0);
      CHECK(bytes < before);
      CHECK(bytes <= nasa_bytes(kernel().size(classes[i])[0], nonzeros[i], ranks));
      before = bytes;
    }
  }
}

}  // namespace

int main() {
  CHECK(kernel().name == "CG");
  for (const char problem_class : classes) CHECK(reference("CG", problem_class, "zeta") > 8.0);
  CHECK(kernel().iterations('A') == 15);
  CHECK(kernel().iterations('D') == 100);
  check_refusals();
  check_memory();
  return check::result();
}
