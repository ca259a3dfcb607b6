// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "npb/driver/kernel.hpp"

namespace fabricbench::npb {

/// Version of the specification that the kernels follow, as in NPB's report.
inline constexpr const char* npb_version = "3.4";

/// Name, size, iterations and ranks, as NPB prints before a run.
[[nodiscard]] std::string header(const Kernel& kernel, const Problem& problem);

/// NPB's result lines after `seconds` in the timed region. Mop/s is given only for a verified run.
[[nodiscard]] std::string results(const Kernel& kernel, const Problem& problem,
                                  const Outcome& outcome, double seconds);

}  // namespace fabricbench::npb
