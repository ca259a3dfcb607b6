// SPDX-License-Identifier: Apache-2.0
//
// CG: estimates the smallest eigenvalue of a sparse matrix with a random pattern (RNR-94-007,
// kernel CG). The iteration is in Fortran, in cg_m.f90.
#include <mpi.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "npb/driver/kernel.hpp"
#include "npb/driver/ranks.hpp"
#include "npb/driver/reference.hpp"

extern "C" void npb_cg_run(int n, int nonzeros, int iterations, double shift, int ranks,
                           MPI_Fint comm, int fault, double* residuals, double* zetas);

namespace fabricbench::npb {
namespace {

/// Parameters of a class: order of the matrix, nonzeros of a random vector, iterations of the power
/// method, and the shift.
struct Parameters {
  int n;
  int nonzeros;
  int iterations;
  double shift;
};

Parameters parameters_of(char problem_class) {
  switch (problem_class) {
    case 'S':
      return {.n = 1400, .nonzeros = 7, .iterations = 15, .shift = 10.0};
    case 'W':
      return {.n = 7000, .nonzeros = 8, .iterations = 15, .shift = 12.0};
    case 'A':
      return {.n = 14000, .nonzeros = 11, .iterations = 15, .shift = 20.0};
    case 'B':
      return {.n = 75000, .nonzeros = 13, .iterations = 75, .shift = 60.0};
    case 'C':
      return {.n = 150000, .nonzeros = 15, .iterations = 75, .shift = 110.0};
    case 'D':
      return {.n = 1500000, .nonzeros = 21, .iterations = 100, .shift = 500.0};
    default:
      throw std::logic_error(std::string("CG has no class ") + problem_class);
  }
}

constexpr double tolerance = 1e-10;  ///< of zeta, relative

// cg_grid_m and cg_m use the indices of these phases.
constexpr std::array<Phase, 4> phases{{{.name = "total", .communication = false},
                                       {.name = "conjg", .communication = false},
                                       {.name = "rcomm", .communication = true},
                                       {.name = "ncomm", .communication = true}}};
constexpr std::array<std::string_view, 1> layouts{"auto"};

/// Rows and columns of the process grid.
struct Grid {
  int rows;
  int columns;
};

Grid grid_of(int ranks) {
  const int doublings = std::countr_zero(static_cast<unsigned>(ranks));
  return {.rows = 1 << (doublings / 2), .columns = 1 << ((doublings + 1) / 2)};
}

std::string fixed(double value, int width, int decimals) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%*.*f", width, decimals, value);
  return text.data();
}

std::string scientific(double value, int width, int decimals) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%*.*E", width, decimals, value);
  return text.data();
}

std::array<std::int64_t, 3> size(char problem_class) {
  return {parameters_of(problem_class).n, 0, 0};
}

int iterations(char problem_class) {
  return parameters_of(problem_class).iterations;
}

/// Returns the largest number of ranks for which each grid column has a column of the matrix.
std::int64_t most_ranks(char problem_class) {
  const auto columns = std::bit_floor(static_cast<unsigned>(parameters_of(problem_class).n));
  return std::int64_t{columns} * columns;
}

std::string refusal(const Problem& problem) {
  return refuse_ranks(std::string("CG class ") + problem.problem_class, problem.ranks, 1,
                      most_ranks(problem.problem_class));
}

std::int64_t bytes_per_rank(const Problem& problem) {
  const Parameters parameters = parameters_of(problem.problem_class);
  const Grid grid = grid_of(problem.ranks);
  const std::int64_t n = parameters.n;
  const std::int64_t most = parameters.nonzeros + 1;  // of a vector
  // NASA's upper limit for the elements of a rank before duplicates are summed. While the tiles
  // (8 + 2 bytes per element, and padding) are built, the rows (8 + 4 bytes) are still allocated.
  const std::int64_t elements = n * most / problem.ranks * most + parameters.nonzeros +
                                n * (most + 1 + problem.ranks / 256) / grid.columns;
  const std::int64_t rows = n / grid.rows + 1;
  const std::int64_t columns = n / grid.columns + 1;
  return elements * 12 + elements * 21 / 2 + (rows + columns) * 5 * std::int64_t{sizeof(double)};
}

std::string parameters(const Problem& problem) {
  const Parameters parameters = parameters_of(problem.problem_class);
  const Grid grid = grid_of(problem.ranks);
  return " Number of nonzeroes per row: " + fixed(parameters.nonzeros, 8, 0) +
         "\n Eigenvalue shift: " + fixed(parameters.shift, 9, 3) +
         "\n Grid of processes: " + std::to_string(grid.rows) + " x " +
         std::to_string(grid.columns) + "\n";
}

std::string report(const std::vector<double>& residuals, const std::vector<double>& zetas,
                   bool verified, double expected, double error) {
  std::string text = "\n   iteration           ||r||                 zeta\n";
  for (std::size_t i = 0; i < zetas.size(); ++i) {
    const std::size_t iteration = i + 1;
    if (iteration != 1 && iteration != zetas.size() && iteration % 5 != 0) continue;
    text += fixed(static_cast<double>(iteration), 9, 0) + scientific(residuals[i], 27, 14) +
            fixed(zetas[i], 20, 13) + "\n";
  }
  text += " Benchmark completed\n";
  const std::string zeta = scientific(zetas.back(), 20, 13) + "\n";
  if (verified) {
    return text + " VERIFICATION SUCCESSFUL\n Zeta is    " + zeta + " Error is   " +
           scientific(error, 20, 13) + "\n";
  }
  return text + " VERIFICATION FAILED\n Zeta                " + zeta + " The correct zeta is " +
         scientific(expected, 20, 13) + "\n";
}

Outcome run(const Problem& problem, MPI_Comm comm) {
  const Parameters parameters = parameters_of(problem.problem_class);
  std::vector<double> residuals(static_cast<std::size_t>(parameters.iterations));
  std::vector<double> zetas(residuals.size());
  npb_cg_run(parameters.n, parameters.nonzeros, parameters.iterations, parameters.shift,
             problem.ranks, MPI_Comm_c2f(comm), problem.fault, residuals.data(), zetas.data());

  // NASA counts 25 matrix products, their vector operations, and the norms.
  const double products = parameters.nonzeros * (parameters.nonzeros + 1.0);
  const double operations =
      2.0 * parameters.iterations * parameters.n * (3.0 + products + 25.0 * (5.0 + products) + 3.0);
  const double expected = reference("CG", problem.problem_class, "zeta");
  const double error = std::abs(zetas.back() - expected) / expected;
  const bool verified = error <= tolerance;
  return {.operations = operations,
          .verified = verified,
          .text = report(residuals, zetas, verified, expected, error)};
}

}  // namespace

const Kernel& kernel() {
  static constexpr Kernel cg{.name = "CG",
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
  return cg;
}

}  // namespace fabricbench::npb
