// SPDX-License-Identifier: Apache-2.0
#include "micro/tournament.hpp"

namespace fabricbench::micro {

/// On a circle of rounds() places i plays j if i + j = round (modulo rounds()). The player for
/// whom i = j plays the last player, or nobody if the number is odd.
std::vector<Tournament::Pair> Tournament::round(int round) const {
  const int circle = rounds();
  std::vector<Pair> found;
  for (int player = 0; player < circle; ++player) {
    const int facing = (round + circle - player) % circle;
    const int other = facing == player ? circle : facing;
    if (player < other && other < players_) found.push_back({.lower = player, .higher = other});
  }
  return found;
}

std::vector<int> Tournament::rounds_of_block(std::int64_t wanted, std::int64_t block) const {
  const std::int64_t all = rounds();
  const std::int64_t count = wanted == 0 || wanted > all ? all : wanted;
  std::vector<int> chosen;
  for (std::int64_t i = 0; i < count; ++i) {
    chosen.push_back(static_cast<int>((block % all * count + i) % all));
  }
  return chosen;
}

}  // namespace fabricbench::micro
