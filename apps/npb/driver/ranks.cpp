// SPDX-License-Identifier: Apache-2.0
#include "npb/driver/ranks.hpp"

#include <bit>

namespace fabricbench::npb {

std::string refuse_ranks(const std::string& what, int ranks, std::int64_t least,
                         std::int64_t most) {
  if (std::has_single_bit(static_cast<unsigned>(ranks)) && ranks >= least && ranks <= most)
    return "";
  return what + " on " + std::to_string(ranks) + (ranks == 1 ? " rank" : " ranks") +
         "; expected a power of two from " + std::to_string(least) + " to " + std::to_string(most) +
         "; change the number of ranks";
}

}  // namespace fabricbench::npb
