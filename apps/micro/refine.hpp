// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>

namespace fabricbench::micro {

/// The largest number of sizes that are added.
inline constexpr int most_added_sizes = 12;

/// Returns the size to measure next in order to locate a bend of a curve (Kielmann, Bal, Verstoep
/// 2000). Selects the size whose time deviates most, by more than a quarter, from the line through
/// the two previous sizes, and returns the middle between it and the previous size. Ignores sizes
/// that differ from the previous one by less than an eighth or 32 bytes. Returns nothing if no size
/// qualifies. `times`: positive durations in any unit by size in bytes.
[[nodiscard]] std::optional<std::int64_t> size_to_add(const std::map<std::int64_t, double>& times);

}  // namespace fabricbench::micro
