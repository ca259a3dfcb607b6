// SPDX-License-Identifier: Apache-2.0
#include "micro/benchmark.hpp"

#include "common/usage_error.hpp"

namespace fabricbench::micro {

int Benchmark::reporting(int all_ranks) const {
  switch (reporters) {
    case Reporters::half:
      return all_ranks / 2;
    case Reporters::all_but_last:
      return all_ranks - 1;
    case Reporters::all:
      return all_ranks;
    case Reporters::named:
      return 1;
  }
  return all_ranks;
}

void Benchmark::check_ranks(int all_ranks) const {
  const std::string head = std::string(name) + ": MPI_COMM_WORLD has " + std::to_string(all_ranks) +
                           (all_ranks == 1 ? " rank; " : " ranks; ");
  if (ranks == Ranks::pairs && (all_ranks < 2 || all_ranks % 2 != 0)) {
    throw UsageError(head +
                     "expected an even number, 2 or more (ranks i and i+n/2 are a pair); "
                     "start it with -n 2");
  }
  if (ranks == Ranks::two_or_more && all_ranks < 2) {
    throw UsageError(head + "expected 2 or more; start it with -n 2");
  }
}

std::string Benchmark::case_name(const Point& point, int all_ranks, const Words& more) const {
  Words parts = more;
  if (ranks == Ranks::pairs && all_ranks > 2) parts["pairs"] = std::to_string(all_ranks / 2);
  const auto& [choice, amount, sized, unit, rounds] = dimensions;
  if (!choice.key.empty()) parts[std::string(choice.key)] = choice.words[point.choice];
  if (!amount.key.empty()) parts[std::string(amount.key)] = std::to_string(point.amount);
  std::string text;
  for (const auto& [key, value] : parts) {
    text.append(text.empty() ? "" : " ").append(key).append("=").append(value);
  }
  return text;
}

}  // namespace fabricbench::micro
