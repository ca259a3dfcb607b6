// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace fabricbench::npb {

/// The problem that is asked for. Classes are NASA's: S, W, A, B, C, D.
struct Problem {
  char problem_class;
  int ranks;
  std::string layout;  ///< value of --layout; "auto" unless given
  bool fault;          ///< perturb one element of the state, so that verification must fail
};

/// A part of the run that is timed; `communication` if all it does is MPI.
struct Phase {
  std::string_view name;
  bool communication;
};

/// What came of a run. Only rank 0's counts.
struct Outcome {
  double operations;  ///< NASA's operation count of the whole timed region
  bool verified;
  std::string text;  ///< what the kernel reports beside the common form: norms, checksums
};

/// One NAS kernel. A program links exactly one.
struct Kernel {
  std::string_view name;                      ///< IS, CG, FT
  std::string_view operation;                 ///< as in the report: "keys ranked", "floating point"
  std::span<const std::string_view> layouts;  ///< values of --layout
  std::span<const Phase> phases;              ///< the first is NASA's timed region as a whole

  /// Points of the problem; the second and third are 0 where it is no grid.
  std::array<std::int64_t, 3> (*size)(char problem_class);
  int (*iterations)(char problem_class);
  /// Why these ranks cannot run it and which can, or nothing.
  std::string (*refusal)(const Problem& problem);
  /// Memory that the largest rank takes.
  std::int64_t (*bytes_per_rank)(const Problem& problem);
  /// Lines between the header and the run: the parameters that are the kernel's own.
  std::string (*parameters)(const Problem& problem);
  /// Collective over `comm`. Exceptions end all ranks.
  Outcome (*run)(const Problem& problem, MPI_Comm comm);
};

/// The kernel of this program.
[[nodiscard]] const Kernel& kernel();

}  // namespace fabricbench::npb
