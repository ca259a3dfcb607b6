// SPDX-License-Identifier: Apache-2.0
#include "check.hpp"
#include "timing/plan.hpp"

using namespace fabricbench::timing;

namespace {

void test_scaling() {
  CHECK(scaled_count(1000, 0, 10) == 1000);
  CHECK(scaled_count(1000, 65536, 10) == 1000);
  CHECK(scaled_count(1000, 65537, 10) == 999);
  CHECK(scaled_count(1000, 131072, 10) == 500);
  CHECK(scaled_count(1000, 4 << 20, 10) == 15);
  CHECK(scaled_count(1000, 64 << 20, 10) == 10);
  CHECK(scaled_count(3, 64 << 20, 10) == 3);
  CHECK(scaled_count(0, 64 << 20, 2) == 0);
  CHECK(scaled_count(1'000'000'000, 2147483647, 10) == 30517);
  CHECK(scaled_count(1000, 0, 10, 4) == 250);
  CHECK(scaled_count(20, 0, 10, 4) == 10);
  CHECK(scaled_count(3, 0, 10, 4) == 3);
  CHECK(scaled_count(1000, 131072, 10, 4) == 125);
}

void test_stride() {
  CHECK(make_plan(1, 0).samples == 1 && make_plan(1, 0).stride == 1);
  CHECK(make_plan(1000, 7).stride == 1 && make_plan(1000, 7).warmup == 7);
  CHECK(make_plan(1001, 0).stride == 2 && make_plan(1001, 0).iterations() == 1000);
  CHECK(make_plan(2500, 0).stride == 3 && make_plan(2500, 0).samples == 833);
  for (std::int64_t iterations = 1; iterations < 5000; ++iterations) {
    const Plan plan = make_plan(iterations, 0);
    CHECK(plan.samples >= 1 && plan.samples <= max_samples);
    CHECK(plan.iterations() <= iterations && iterations - plan.iterations() < plan.stride);
  }
}

void test_time_limit() {
  CHECK(limited_count(1000, 1.0, 0.0) == 1000);
  CHECK(limited_count(1000, 1.0, 1e-3) == 1000);
  CHECK(limited_count(1000, 0.5, 1e-3) == 500);
  CHECK(limited_count(1000, 1e-6, 1.0) == 10);
  CHECK(limited_count(4, 1e-6, 1.0) == 4);
}

}  // namespace

int main() {
  test_scaling();
  test_stride();
  test_time_limit();
  return check::result();
}
