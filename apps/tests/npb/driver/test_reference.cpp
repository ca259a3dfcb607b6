// SPDX-License-Identifier: Apache-2.0
#include <stdexcept>

#include "check.hpp"
#include "npb/driver/reference.hpp"

using namespace fabricbench::npb;

namespace {

bool lacks(std::string_view kernel, char problem_class, std::string_view name) {
  return check::throws<std::logic_error>(
      [&] { static_cast<void>(reference(kernel, problem_class, name)); }, "no verification value");
}

void test_existing_values() {
  CHECK(reference("IS", 'S', "index.0") == 48427);
  CHECK(reference("IS", 'B', "step.0") == -1);
  // These values have more digits than float can represent.
  CHECK(reference("IS", 'D', "rank.4") == 2147425337);
  CHECK(reference("CG", 'S', "zeta") == 8.5971775078648);
}

void test_missing_values() {
  CHECK(lacks("IS", 'E', "index.0"));
  CHECK(lacks("IS", 'S', "index.5"));
  CHECK(lacks("IS", 'S', "index"));
  CHECK(lacks("EP", 'S', "index.0"));
}

}  // namespace

int main() {
  test_existing_values();
  test_missing_values();
  return check::result();
}
