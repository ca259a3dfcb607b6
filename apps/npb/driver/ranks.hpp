// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace fabricbench::npb {

/// Returns why `what`, such as "CG class S", cannot run on `ranks` ranks, or "". NASA allows powers
/// of two from `least` to `most`.
[[nodiscard]] std::string refuse_ranks(const std::string& what, int ranks, std::int64_t least,
                                       std::int64_t most);

}  // namespace fabricbench::npb
