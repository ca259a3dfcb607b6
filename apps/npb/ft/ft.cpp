// SPDX-License-Identifier: Apache-2.0
//
// FT: the kernel's record for the driver. ft_m computes in Fortran.
#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <cstdio>
#include <string>
#include <vector>

#include "npb/driver/kernel.hpp"
#include "npb/driver/reference.hpp"
#include "npb/ft/grid.hpp"

extern "C" void fabricbench_ft_run(const int* n, int p1, int p2, int iterations, MPI_Fint comm,
                                   int fault, std::complex<double>* checksums);

namespace fabricbench::npb {
namespace {

constexpr std::array<std::string_view, 4> layouts = {"auto", "0d", "1d", "2d"};

// transform_m and ft_m use the indices of these phases. Exchanges are NASA's transpose1 (x and z)
// and transpose2 (x and y); the transforms do their packing. fft includes evolve and the exchanges.
constexpr std::array phases = {Phase{"total", false},         Phase{"setup", false},
                               Phase{"fft", false},           Phase{"evolve", false},
                               Phase{"checksum", false},      Phase{"transpose1_glo", true},
                               Phase{"transpose2_glo", true}, Phase{"sync", true}};

constexpr double tolerance = 1e-12;

std::array<std::int64_t, 3> size(char problem_class) {
  const auto [nx, ny, nz] = ft::points(problem_class);
  return {nx, ny, nz};
}

int iterations(char problem_class) {
  switch (problem_class) {
    case 'B':
    case 'C':
      return 20;
    case 'D':
      return 25;
    default:
      return 6;
  }
}

std::string refusal(const Problem& problem) {
  return ft::refusal(problem.problem_class, problem.ranks, problem.layout);
}

std::int64_t bytes_per_rank(const Problem& problem) {
  const auto [nx, ny, nz] = size(problem.problem_class);
  const std::int64_t grids = problem.ranks == 1 ? 2 : 3;
  const std::int64_t grid_bytes = nx * ny * nz / problem.ranks * 16;
  // Per transform: two buffers of eight lines, twiddle factors and chunk numbers. In addition two
  // more buffers of eight lines.
  return grids * grid_bytes + (nx + ny + nz) * 300 + std::max({nx, ny, nz}) * 256;
}

std::string parameters(const Problem& problem) {
  const ft::Grid grid = ft::process_grid(problem.problem_class, problem.ranks, problem.layout);
  const char* const layout = problem.ranks == 1 ? "0D" : grid.p1 == 1 ? "1D" : "2D";
  return " Processor array: " + std::to_string(grid.p1) + "x" + std::to_string(grid.p2) +
         "\n Layout type: " + layout + "\n";
}

/// Returns NPB's operation count for all iterations, the first transform and the set-up.
double operations(char problem_class) {
  const auto [nx, ny, nz] = size(problem_class);
  const auto total = static_cast<double>(nx * ny * nz);
  const double log_total = std::log(total);
  return total * (14.8157 + 7.19641 * log_total +
                  (5.23518 + 7.21113 * log_total) * iterations(problem_class));
}

std::string checksum_line(std::size_t iteration, std::complex<double> sum) {
  std::array<char, 100> line{};
  std::snprintf(line.data(), line.size(), " T = %4zu     Checksum = %21.12E %21.12E\n", iteration,
                sum.real(), sum.imag());
  return line.data();
}

Outcome run(const Problem& problem, MPI_Comm comm) {
  const ft::Points n = ft::points(problem.problem_class);
  const ft::Grid grid = ft::process_grid(problem.problem_class, problem.ranks, problem.layout);
  const auto count = static_cast<std::size_t>(iterations(problem.problem_class));
  std::vector<std::complex<double>> sums(count);
  fabricbench_ft_run(n.data(), grid.p1, grid.p2, static_cast<int>(count), MPI_Comm_c2f(comm),
                     problem.fault, sums.data());

  Outcome outcome{.operations = operations(problem.problem_class), .verified = true, .text = ""};
  for (std::size_t t = 1; t <= count; ++t) {
    const std::string name = "checksum." + std::to_string(t);
    const std::complex expected(reference("FT", problem.problem_class, name + ".re"),
                                reference("FT", problem.problem_class, name + ".im"));
    const std::complex sum = sums[t - 1];
    // The negated comparison makes NaN fail.
    if (!(std::abs((sum - expected) / expected) <= tolerance)) outcome.verified = false;
    outcome.text += checksum_line(t, sum);
  }
  outcome.text +=
      outcome.verified ? " Result verification successful\n" : " Result verification failed\n";
  return outcome;
}

constexpr Kernel ft_kernel = {.name = "FT",
                              .operation = "floating point",
                              .layouts = layouts,
                              .buckets = {},
                              .phases = phases,
                              .size = size,
                              .iterations = iterations,
                              .refusal = refusal,
                              .bytes_per_rank = bytes_per_rank,
                              .parameters = parameters,
                              .run = run};

}  // namespace

const Kernel& kernel() {
  return ft_kernel;
}

}  // namespace fabricbench::npb
