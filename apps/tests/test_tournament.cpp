// SPDX-License-Identifier: Apache-2.0
#include <set>
#include <utility>

#include "check.hpp"
#include "micro/tournament.hpp"

using namespace fabricbench::micro;

namespace {

void test_every_rank_pair_occurs_once() {
  for (int players = 2; players <= 33; ++players) {
    const Tournament tournament(players);
    std::set<std::pair<int, int>> met;
    for (int round = 0; round < tournament.rounds(); ++round) {
      std::set<int> playing;
      for (const auto& [lower, higher] : tournament.round(round)) {
        CHECK(0 <= lower && lower < higher && higher < players);
        CHECK(playing.insert(lower).second && playing.insert(higher).second);
        CHECK(met.insert({lower, higher}).second);
      }
      CHECK(playing.size() == 2 * static_cast<std::size_t>(tournament.pairs()));
    }
    CHECK(met.size() == static_cast<std::size_t>(players * (players - 1) / 2));
  }
  CHECK(Tournament(2).rounds() == 1 && Tournament(3).rounds() == 3 && Tournament(4).rounds() == 3);
}

void test_blocks_continue_the_rounds() {
  const Tournament four(4);
  using Rounds = std::vector<int>;
  CHECK(four.rounds_of_block(0, 7) == (Rounds{0, 1, 2}));
  CHECK(four.rounds_of_block(9, 0) == (Rounds{0, 1, 2}));
  CHECK(four.rounds_of_block(2, 0) == (Rounds{0, 1}));
  CHECK(four.rounds_of_block(2, 1) == (Rounds{2, 0}));
  CHECK(four.rounds_of_block(2, 2) == (Rounds{1, 2}));
  CHECK(four.rounds_of_block(1, 1'000'000'000) == (Rounds{1}));
}

}  // namespace

int main() {
  test_every_rank_pair_occurs_once();
  test_blocks_continue_the_rounds();
  return check::result();
}
