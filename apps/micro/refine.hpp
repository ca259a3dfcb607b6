// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>

namespace fabricbench::micro {

/// The largest number of sizes that are added.
inline constexpr int most_added_sizes = 12;

/// The size to measure next so that the bends of a curve are found (Kielmann, Bal, Verstoep 2000):
/// the middle between the size whose time departs most, by more than a quarter, from the line
/// through the two before it and the one before, unless they are within an eighth of each other or
/// 32 bytes. `times`: positive durations in any unit by size in bytes. Nothing where the curve is
/// straight enough.
[[nodiscard]] std::optional<std::int64_t> size_to_add(const std::map<std::int64_t, double>& times);

}  // namespace fabricbench::micro
