// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace fabricbench::npb {

/// Returns NASA's verification value `name` of a kernel and class, from
/// inputs/npb/verification.csv. Throws std::logic_error if the file lacks it.
[[nodiscard]] double reference(std::string_view kernel, char problem_class, std::string_view name);

}  // namespace fabricbench::npb
