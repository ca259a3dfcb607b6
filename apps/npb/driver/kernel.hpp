// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace fabricbench::npb {

/// The requested problem. Classes are NASA's: S, W, A, B, C, D.
struct Problem {
  char problem_class;
  int ranks;
  std::string layout;  ///< value of --layout; "auto" unless given
  int buckets;         ///< value of --buckets; 0 unless given
  bool fault;          ///< perturb one element of the state, so that verification must fail
};

/// A timed part of the run. `communication` is true if it consists only of MPI calls.
struct Phase {
  std::string_view name;
  bool communication;
};

/// The result of a run; valid on rank 0.
struct Outcome {
  double operations;  ///< NASA's operation count of the whole timed region
  bool verified;
  std::string text;  ///< the kernel's own lines of the report: norms, checksums
};

/// One NAS kernel. A program links exactly one.
struct Kernel {
  std::string_view name;                      ///< IS, CG, FT
  std::string_view operation;                 ///< in the report: "keys ranked", "floating point"
  std::span<const std::string_view> layouts;  ///< values of --layout
  std::span<const int> buckets;               ///< values of --buckets; empty if it has no buckets
  std::span<const Phase> phases;              ///< the first is NASA's timed region as a whole

  /// Points of the problem in each dimension; the second and third are 0 if it is not a grid.
  std::array<std::int64_t, 3> (*size)(char problem_class);
  int (*iterations)(char problem_class);
  /// Returns why the problem cannot run on these ranks and which numbers are accepted, or "".
  std::string (*refusal)(const Problem& problem);
  /// Returns the memory of the rank that needs most, in bytes.
  std::int64_t (*bytes_per_rank)(const Problem& problem);
  /// Returns the kernel's own parameters as lines of the report after the header.
  std::string (*parameters)(const Problem& problem);
  /// Runs the problem. Collective over `comm`. An exception ends all ranks.
  Outcome (*run)(const Problem& problem, MPI_Comm comm);
};

/// Returns the kernel of this program.
[[nodiscard]] const Kernel& kernel();

}  // namespace fabricbench::npb
