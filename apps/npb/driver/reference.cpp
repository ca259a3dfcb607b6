// SPDX-License-Identifier: Apache-2.0
#include "npb/driver/reference.hpp"

#include <algorithm>
#include <iterator>
#include <stdexcept>
#include <string>

namespace fabricbench::npb {
namespace {

struct Reference {
  std::string_view kernel;
  char problem_class;
  std::string_view name;
  double value;
};

constexpr Reference references[] = {
#include "npb/references.inc"
};

}  // namespace

double reference(std::string_view kernel, char problem_class, std::string_view name) {
  const auto* const found =
      std::find_if(std::begin(references), std::end(references), [&](const Reference& candidate) {
        return candidate.kernel == kernel && candidate.problem_class == problem_class &&
               candidate.name == name;
      });
  if (found == std::end(references)) {
    throw std::logic_error("no verification value \"" + std::string(name) + "\" of " +
                           std::string(kernel) + " class " + problem_class);
  }
  return found->value;
}

}  // namespace fabricbench::npb
