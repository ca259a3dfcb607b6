// SPDX-License-Identifier: Apache-2.0
#include "npb/driver/report.hpp"

#include <array>
#include <cstdio>

namespace fabricbench::npb {
namespace {

std::string row(const char* label, const std::string& value) {
  std::array<char, 120> line{};
  std::snprintf(line.data(), line.size(), " %-16s= %24s\n", label, value.c_str());
  return line.data();
}

std::string number(double value, int decimals) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.*f", decimals, value);
  return text.data();
}

std::string size_text(const Kernel& kernel, char problem_class) {
  const auto [x, y, z] = kernel.size(problem_class);
  if (y == 0) return std::to_string(x);
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%4ldx%4ldx%4ld", static_cast<long>(x),
                static_cast<long>(y), static_cast<long>(z));
  return text.data();
}

}  // namespace

std::string header(const Kernel& kernel, const Problem& problem) {
  const char problem_class = problem.problem_class;
  return "\n\n Fabricbench " + std::string(kernel.name) + " after NPB " + std::string(npb_version) +
         "\n\n Size: " + size_text(kernel, problem_class) + "  (class " + problem_class +
         ")\n Iterations: " + std::to_string(kernel.iterations(problem_class)) +
         "\n Total number of processes: " + std::to_string(problem.ranks) + "\n" +
         kernel.parameters(problem) + "\n";
}

std::string results(const Kernel& kernel, const Problem& problem, const Outcome& outcome,
                    double seconds) {
  const std::string ranks = std::to_string(problem.ranks);
  std::string text = "\n\n " + std::string(kernel.name) + " Benchmark Completed.\n";
  text += row("Class", std::string(1, problem.problem_class));
  text += row("Size", size_text(kernel, problem.problem_class));
  text += row("Iterations", std::to_string(kernel.iterations(problem.problem_class)));
  text += row("Time in seconds", number(seconds, 6));
  text += row("Total processes", ranks);
  text += row("Active processes", ranks);
  if (outcome.verified) {
    const double mops = outcome.operations / seconds * 1e-6;
    text += row("Mop/s total", number(mops, 2));
    text += row("Mop/s/process", number(mops / problem.ranks, 2));
  }
  text += row("Operation type", std::string(kernel.operation));
  text += row("Verification", outcome.verified ? "SUCCESSFUL" : "UNSUCCESSFUL");
  text += row("Version", npb_version);
  text += row("Compiled by", FABRICBENCH_COMPILED_BY);
  text += row("Compile options", FABRICBENCH_COMPILE_OPTIONS);
  text += row("Program", "fabricbench " FABRICBENCH_VERSION);
  return text;
}

}  // namespace fabricbench::npb
