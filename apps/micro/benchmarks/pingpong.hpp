// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "micro/benchmarks/rank_pair.hpp"

namespace fabricbench::micro {

/// One message to the responder and one back.
class PingPong : public RankPairPart {
 public:
  using RankPairPart::RankPairPart;

  void run() override {
    if (initiates_) {
      send(point_.msg_size);
      receive(point_.msg_size);
    } else {
      receive(point_.msg_size);
      send(point_.msg_size);
    }
  }
  Traffic moved() const override {
    return 2 * pairs() * Traffic{.messages = 1, .bytes = point_.msg_size};
  }
  double values_per_run() const override { return 2.0; }
};

}  // namespace fabricbench::micro
