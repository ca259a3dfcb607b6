// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace fabricbench::micro {

/// A round robin by the circle method. In each round every player has one opponent; with an odd
/// number of players one player has none. After all rounds every two players have met once.
class Tournament {
 public:
  struct Pair {
    int lower;
    int higher;
    friend bool operator==(const Pair&, const Pair&) = default;
  };

  /// Range: players >= 2.
  explicit Tournament(int players) : players_(players) {}

  [[nodiscard]] int rounds() const { return players_ - 1 + players_ % 2; }
  /// Pairs of one round.
  [[nodiscard]] int pairs() const { return players_ / 2; }
  /// The pairs of a round, 0 <= round < rounds(), in order of their lower player.
  [[nodiscard]] std::vector<Pair> round(int round) const;

  /// The rounds of block `block` (>= 0): `wanted` of them; all if `wanted` is 0 or larger than
  /// rounds(). Each block continues after the rounds of the previous one.
  [[nodiscard]] std::vector<int> rounds_of_block(std::int64_t wanted, std::int64_t block) const;

 private:
  int players_;
};

}  // namespace fabricbench::micro
