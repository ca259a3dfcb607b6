// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "npb/driver/kernel.hpp"

namespace fabricbench::npb {

/// Version of NPB whose specification the kernels follow and the report prints.
inline constexpr const char* npb_version = "3.4";

/// Returns name, size, iterations and ranks, as NPB prints them before a run. The name says that
/// the program is not NASA's.
[[nodiscard]] std::string header(const Kernel& kernel, const Problem& problem);

/// Returns NPB's result lines for `seconds` in the timed region. Only a verified run has Mop/s.
[[nodiscard]] std::string results(const Kernel& kernel, const Problem& problem,
                                  const Outcome& outcome, double seconds);

}  // namespace fabricbench::npb
