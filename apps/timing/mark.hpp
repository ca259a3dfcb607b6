// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace fabricbench::timing {

/// Empty intervals that a program marks before its first measurement. What they carry is what the
/// synchronisation inside every interval carries.
inline constexpr int calibrations = 6;

/// Intervals of so many barriers each, from which the traffic of one barrier follows.
inline constexpr int barrier_calibrations = 4;
inline constexpr int barriers_per_calibration = 100;

/// The labels of the calibration intervals, counted from 0.
[[nodiscard]] std::string calibration_label(int number);
[[nodiscard]] std::string barriers_label(int number);

/// Mark the begin and the end of the interval `label` for the witness, if it is preloaded; else do
/// nothing. Outside the timed region, after a barrier. `label`: at most 127 bytes.
void mark_begin(const std::string& label);
void mark_end(const std::string& label);

}  // namespace fabricbench::timing
