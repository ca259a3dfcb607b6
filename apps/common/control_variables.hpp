// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace fabricbench {

/// A setting of the MPI library, read through its tool interface (MPI_T).
struct ControlVariable {
  std::string name;   ///< letters, digits, and "_", "-", "."; others become "_"
  std::string value;  ///< printable text on one line, cut at 200 bytes; several numbers are
                      ///< separated by commas
};

/// The control variables of this process that can be read without an MPI object (MPI 3.1,
/// section 14.3.6), in the library's order, at most 4,000. Empty if the library has no MPI_T.
/// Needs MPI_Init; sends no message.
#ifdef FABRICBENCH_HAS_MPI_T
[[nodiscard]] std::vector<ControlVariable> control_variables();
#else
[[nodiscard]] inline std::vector<ControlVariable> control_variables() {
  return {};
}
#endif

}  // namespace fabricbench
