// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace fabricbench::timing {

/// The number of empty intervals that a program marks before its first measurement. Their
/// traffic is that of the synchronisation inside every interval.
inline constexpr int calibrations = 6;

/// The number of intervals that hold barriers only, and the barriers in each. The traffic of
/// one barrier follows from them.
inline constexpr int barrier_calibrations = 4;
inline constexpr int barriers_per_calibration = 100;

/// The labels of the calibration intervals, counted from 0.
[[nodiscard]] std::string calibration_label(int number);
[[nodiscard]] std::string barriers_label(int number);

/// Returns whether the process has loaded a witness.
[[nodiscard]] bool has_witness();

/// Mark the begin and the end of the interval `label` for the witness. Without a witness they do
/// nothing. Call them outside the timed region, after a barrier. `label`: at most 127 bytes.
void mark_begin(const std::string& label);
void mark_end(const std::string& label);

}  // namespace fabricbench::timing
