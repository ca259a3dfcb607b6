// SPDX-License-Identifier: Apache-2.0
#include "micro/job.hpp"

#include <cstdlib>

#include "common/complain.h"
#include "common/usage_error.hpp"
#include "micro/msg_sizes.hpp"
#include "timing/clock.hpp"
#include "timing/loop.hpp"

namespace fabricbench::micro {

Job parse_job(const char* program, const Benchmark& benchmark,
              std::span<const char* const> arguments) {
  const Fault fault = parse_fault(std::getenv("FABRICBENCH_MICRO_FAULT"));
  const Options options = parse_options(arguments, benchmark.dimensions, largest_size_in_memory());
  return {.program = program, .benchmark = &benchmark, .options = options, .fault = fault};
}

void print_header(Report& report, const Job& job, const Platform& platform) {
  const timing::ClockQuality clock = timing::measure_clock();
  report.key("schema", 1);
  report.key("tool", "micro");
  report.key("benchmark", job.benchmark->name);
  report.key("version", version());
  for (const auto& [key, value] : platform.libraries) report.key(key, value);
  report.key("ranks", platform.ranks);
  if (!platform.hosts.empty()) report.key("hosts", platform.hosts);
  report.key("clock", timing::clock_name);
  report.key("clock_resolution_ns", fixed(clock.resolution_ns, 0));
  report.key("timer_overhead_ns", fixed(clock.overhead_ns, 1));
  report.key("loop_overhead_ns", fixed(timing::overhead_ns(), 0));
  report.key("mode", job.options.check ? "checked" : "timed");
  if (job.fault.kind != Fault::Kind::none) report.key("fault", job.fault.text);
  if (!job.benchmark->sends_messages()) return;
  report.key("synchronisation", job.benchmark->synchronisation);
  report.key("iteration_rule",
             std::to_string(job.options.iterations) + " up to " +
                 std::to_string(timing::full_count_limit_bytes) + " bytes, above max(min(N," +
                 std::to_string(timing::least_iterations) + "),N*" +
                 std::to_string(timing::full_count_limit_bytes) + "/msg_size_bytes)");
  report.key("time_limit_s", fixed(job.options.time_limit_s, 6));
}

int finish(Report& report, const Job& job, bool verified) {
  report.key("end", verified ? "ok" : "failed");
  report.flush();
  if (!report.written()) complain_as(job.program, output_incomplete);
  return verified && report.written() ? exit_verified : exit_wrong;
}

}  // namespace fabricbench::micro
