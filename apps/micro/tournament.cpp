// SPDX-License-Identifier: Apache-2.0
#include "micro/tournament.hpp"

namespace fabricbench::micro {

/// Players i and j meet if i + j = round (modulo rounds()). The player with i = j meets the last
/// player, or has no opponent if the number of players is odd.
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
