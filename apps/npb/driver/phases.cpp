// SPDX-License-Identifier: Apache-2.0
#include "npb/driver/phases.hpp"

#include <array>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "timing/clock.hpp"

#ifdef FABRICBENCH_SMPI
/// The profiler's. Undefined in programs that are not linked with it.
extern "C" void fabricbench_profile_region(int level) __attribute__((weak));
#endif

namespace {

constexpr int most_phases = 32;

/// Marks begin (1) or end (0) of the timed region for profilers.
void mark_region(int level) {
#ifdef FABRICBENCH_SMPI  // SimGrid's MPI_Pcontrol ends the program
  if (fabricbench_profile_region) fabricbench_profile_region(level);
#else
  MPI_Pcontrol(level);
#endif
}

struct Stopwatch {
  std::int64_t begin_ns;
  std::int64_t total_ns;
};

bool all_enabled = false;
std::array<Stopwatch, most_phases> stopwatches{};

/// Seconds that this rank spent in a phase.
double phase_seconds(std::size_t phase) {
  return static_cast<double>(stopwatches[phase].total_ns) * 1e-9;
}

}  // namespace

extern "C" void npb_phase_begin(int phase) {
  if (phase == 0) mark_region(1);
  if (all_enabled || phase == 0) {
    stopwatches[static_cast<std::size_t>(phase)].begin_ns = fabricbench::timing::now_ns();
  }
}

extern "C" void npb_phase_end(int phase) {
  if (all_enabled || phase == 0) {
    Stopwatch& stopwatch = stopwatches[static_cast<std::size_t>(phase)];
    stopwatch.total_ns += fabricbench::timing::now_ns() - stopwatch.begin_ns;
  }
  if (phase == 0) mark_region(0);
}

extern "C" void npb_phases_clear() {
  stopwatches.fill({});
}

namespace fabricbench::npb {

void enable_phases() {
  all_enabled = true;
}

double timed_seconds(MPI_Comm comm) {
  const double seconds = phase_seconds(0);
  double most = 0.0;
  MPI_Reduce(&seconds, &most, 1, MPI_DOUBLE, MPI_MAX, 0, comm);
  return most;
}

std::string phases_report(std::span<const Phase> phases, MPI_Comm comm) {
  std::vector<std::string> names;
  std::vector<double> seconds;
  double communication = 0.0;
  for (std::size_t i = 0; i < phases.size(); ++i) {
    names.emplace_back(phases[i].name);
    seconds.push_back(phase_seconds(i));
    if (phases[i].communication) communication += seconds.back();
  }
  names.insert(names.end(), {"totcomp", "totcomm"});
  seconds.insert(seconds.end(), {seconds.front() - communication, communication});

  const int count = static_cast<int>(seconds.size());
  int rank = 0;
  int ranks = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  std::vector<double> least(seconds.size()), most(seconds.size()), sum(seconds.size());
  MPI_Reduce(seconds.data(), least.data(), count, MPI_DOUBLE, MPI_MIN, 0, comm);
  MPI_Reduce(seconds.data(), most.data(), count, MPI_DOUBLE, MPI_MAX, 0, comm);
  MPI_Reduce(seconds.data(), sum.data(), count, MPI_DOUBLE, MPI_SUM, 0, comm);
  if (rank != 0) return {};

  std::array<char, 160> line{};
  std::snprintf(line.data(), line.size(),
                "\n nprocs = %6d          minimum     maximum     average\n", ranks);
  std::string text = line.data();
  for (std::size_t i = 0; i < names.size(); ++i) {
    std::snprintf(line.data(), line.size(), " timer %2zu (%-8s):  %10.6f  %10.6f  %10.6f\n", i + 1,
                  names[i].c_str(), least[i], most[i], sum[i] / ranks);
    text += line.data();
  }
  return text;
}

}  // namespace fabricbench::npb
