// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "common/usage_error.hpp"
#include "micro/benchmark.hpp"

namespace fabricbench::micro {
namespace {

/// Created at its first use: registrations run before main(), in an unspecified order of files.
std::vector<const Benchmark*>& registered() {
  static std::vector<const Benchmark*> list;
  return list;
}

}  // namespace

Registration::Registration(std::initializer_list<const Benchmark*> benchmarks) {
  registered().insert(registered().end(), benchmarks);
}

std::span<const Benchmark* const> benchmarks() {
  std::vector<const Benchmark*>& list = registered();
  std::sort(list.begin(), list.end(),
            [](const Benchmark* a, const Benchmark* b) { return a->name < b->name; });
  return list;
}

const Benchmark& find_benchmark(std::string_view name) {
  for (const Benchmark* benchmark : benchmarks()) {
    if (benchmark->name == name) return *benchmark;
  }
  throw UsageError("\"" + std::string(name) +
                   "\" is no benchmark of this program; `fabricbench-micro --list` names them");
}

}  // namespace fabricbench::micro
