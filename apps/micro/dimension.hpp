// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace fabricbench::micro {

/// A way of doing the same thing that a benchmark tries word by word: `sync=lock`, `sync=fence`.
/// Also the name of the option that chooses some of the words. Without a key there is none.
struct Choice {
  std::string_view key;
  std::span<const std::string_view> words;
  std::string_view meaning = "";  ///< for --help
};

/// A number that a benchmark tries value by value: `queued=0`, `queued=16`. Also the name of the
/// option that gives other values. Without a key there is none.
struct Amount {
  std::string_view key;
  std::span<const std::int64_t> defaults;
  std::int64_t least = 0;
  std::int64_t most = 0;
  std::string_view meaning = "";  ///< for --help
};

/// What a benchmark varies beside the message size.
struct Dimensions {
  Choice choice;
  Amount amount;
  bool sized = true;           ///< there is a message size
  std::int64_t size_unit = 1;  ///< sizes are multiples of this many bytes
  bool rounds = false;         ///< ranks meet in rounds: --rounds, --block
};

}  // namespace fabricbench::micro
