// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace fabricbench::micro {

/// Words that a benchmark measures one after the other, each as a case: `sync=lock`, `sync=fence`.
/// The key is also the name of the option that selects words. Empty key: no choice.
struct Choice {
  std::string_view key;
  std::span<const std::string_view> words;
  std::string_view meaning = "";  ///< for --help
};

/// Numbers that a benchmark measures one after the other, each as a case: `queued=0`, `queued=16`.
/// The key is also the name of the option that sets other numbers. Empty key: no amount.
struct Amount {
  std::string_view key;
  std::span<const std::int64_t> defaults;
  std::int64_t least = 0;
  std::int64_t most = 0;
  std::string_view meaning = "";  ///< for --help
};

/// The dimensions of a benchmark: message size, choice and amount.
struct Dimensions {
  Choice choice;
  Amount amount;
  bool sized = true;           ///< the benchmark has a message size
  std::int64_t size_unit = 1;  ///< sizes are multiples of this many bytes
  bool rounds = false;         ///< the rank pairs are measured in rounds: --rounds, --block
};

}  // namespace fabricbench::micro
