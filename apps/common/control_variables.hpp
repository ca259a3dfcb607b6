// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace fabricbench {

/// A setting of the MPI library, as its tool interface (MPI_T) names it.
struct ControlVariable {
  std::string name;   ///< letters, digits, and "_", "-", "."; others become "_"
  std::string value;  ///< printable text on one line, cut at 200 bytes; several numbers by commas
};

/// The control variables of this process that can be read without an object of MPI (MPI 3.1,
/// section 14.3.6), in the library's order, 4,000 at most; none where the library has no MPI_T.
/// Needs MPI_Init, and sends nothing.
#ifdef FABRICBENCH_HAS_MPI_T
[[nodiscard]] std::vector<ControlVariable> control_variables();
#else
[[nodiscard]] inline std::vector<ControlVariable> control_variables() {
  return {};
}
#endif

}  // namespace fabricbench
