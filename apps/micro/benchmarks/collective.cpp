// SPDX-License-Identifier: Apache-2.0
#include "micro/benchmarks/collective.hpp"

#include <algorithm>

#include "micro/msg_sizes.hpp"

namespace fabricbench::micro {

Collective::Collective(const Setting& setting, int sent, int received)
    : world_(setting.world),
      send_(capacity(sent, setting.largest_size)),
      receive_(capacity(received, setting.largest_size)) {}

Traffic Collective::moved() const {
  const Traffic own = delivered();
  return {.messages = std::max(own.messages, heard_), .bytes = own.bytes};
}

void Collective::fill_block(int index, std::int64_t iteration) const {
  fill_pattern(block(send_, index), message(world_.rank, index, iteration));
}

std::optional<Mismatch> Collective::check(int index, int sender, int sent_block,
                                          std::int64_t iteration) const {
  auto wrong = find_mismatch(block(receive_, index), message(sender, sent_block, iteration));
  if (wrong) wrong->message.sender = sender;
  return wrong;
}

}  // namespace fabricbench::micro
