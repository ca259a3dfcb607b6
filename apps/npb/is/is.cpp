// SPDX-License-Identifier: Apache-2.0
//
// IS: ranks integer keys (RNR-94-007, kernel IS). Each iteration changes two keys and ranks all
// keys again: it orders the keys by bucket, assigns every rank a range of buckets with about the
// same number of keys, and counts the occurrences of each key in the range.
#include <mpi.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "npb/driver/kernel.hpp"
#include "npb/driver/phases.hpp"
#include "npb/driver/ranks.hpp"
#include "npb/is/global_ranking.hpp"
#include "npb/is/keys.hpp"
#include "npb/is/ranking.hpp"

namespace fabricbench::npb {
namespace {

using namespace is;

constexpr std::array<Phase, 4> phases{{{.name = "total", .communication = false},
                                       {.name = "rcomp", .communication = false},
                                       {.name = "rcomm", .communication = true},
                                       {.name = "verify", .communication = false}}};
constexpr std::array<std::string_view, 1> layouts{"auto"};
constexpr std::array buckets{512, 1024};

Outcome run(const Problem& problem, MPI_Comm comm) {
  GlobalRanking ranking(problem, comm);
  ranking.rank(1);  // Untimed: touches all memory.
  ranking.reset_passed();
  npb_phases_clear();

  MPI_Barrier(comm);
  npb_phase_begin(total);
  for (int iteration = 1; iteration <= iterations; ++iteration) ranking.rank(iteration);
  npb_phase_end(total);

  int passed = ranking.passed();
  MPI_Allreduce(MPI_IN_PLACE, &passed, 1, MPI_INT, MPI_SUM, comm);
  const bool sorted = ranking.sorts();

  const int tests = iterations * static_cast<int>(test_keys);
  const auto keys =
      static_cast<double>(std::int64_t{1} << size_of_class(problem.problem_class).keys_log2);
  return {.operations = iterations * keys,
          .verified = passed == tests && sorted,
          .text = " Test keys ranked right: " + std::to_string(passed) + " of " +
                  std::to_string(tests) + "\n Keys sorted: " + (sorted ? "yes" : "no") + "\n"};
}

std::string refusal(const Problem& problem) {
  const Size size = size_of_class(problem.problem_class);
  return refuse_ranks(std::string("IS class ") + problem.problem_class, problem.ranks,
                      size.least_ranks, size.most_ranks);
}

constexpr Kernel integer_sort{
    .name = "IS",
    .operation = "keys ranked",
    .layouts = layouts,
    .buckets = buckets,
    .phases = phases,
    .size =
        [](char problem_class) {
          return std::array<std::int64_t, 3>{
              std::int64_t{1} << size_of_class(problem_class).keys_log2, 0, 0};
        },
    .iterations = [](char) { return iterations; },
    .refusal = refusal,
    .bytes_per_rank =
        [](const Problem& problem) {
          return expected_bytes(problem.problem_class, problem.ranks,
                                buckets_log2(problem.problem_class, problem.buckets));
        },
    .parameters =
        [](const Problem& problem) {
          return problem.buckets == 0 ? "" : " Buckets: " + std::to_string(problem.buckets) + "\n";
        },
    .run = run,
};

}  // namespace

const Kernel& kernel() {
  return integer_sort;
}

}  // namespace fabricbench::npb
