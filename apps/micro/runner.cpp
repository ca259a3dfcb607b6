// SPDX-License-Identifier: Apache-2.0
#include "micro/runner.hpp"

#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <limits>

#include "micro/operations.hpp"
#include "timing/loop.hpp"

namespace fabricbench::micro {
namespace {

constexpr int samples_tag = 2;
constexpr std::int64_t pilot_iterations = 4;

std::string hex(std::uint8_t byte) {
  constexpr const char* digits = "0123456789abcdef";
  return {'0', 'x', digits[byte >> 4U], digits[byte & 15U]};
}

/// One line on stderr of the rank that received the wrong byte.
void complain(const Benchmark& benchmark, int rank, const Mismatch& wrong) {
  const std::string line =
      "fabricbench-micro: " + std::string(benchmark.name) + ": wrong answer on rank " +
      std::to_string(rank) + ": message of " + std::to_string(wrong.message.msg_size_bytes) +
      " B from rank " + std::to_string(wrong.message.sender) + ", iteration " +
      std::to_string(wrong.message.iteration) + ", offset " + std::to_string(wrong.offset) +
      ": expected " + hex(wrong.expected) + ", found " + hex(wrong.found) + "\n";
  std::fwrite(line.data(), 1, line.size(), stderr);
}

/// Seconds that one iteration takes: the fastest of the pilot, on the rank where that is slowest.
/// The first iteration may set up a connection and any one may be interrupted, so neither decides.
template <class Op>
double pilot_s(const World& world, Op& operation) {
  std::int64_t fastest_ns = std::numeric_limits<std::int64_t>::max();
  MPI_Barrier(world.comm);
  for (std::int64_t i = 0; i < pilot_iterations; ++i) {
    const std::int64_t start = timing::now_ns();
    timing::repeat(operation, i, 1);
    fastest_ns = std::min(fastest_ns, timing::now_ns() - start);
  }
  MPI_Allreduce(MPI_IN_PLACE, &fastest_ns, 1, MPI_INT64_T, MPI_MAX, world.comm);
  return 1e-9 * static_cast<double>(fastest_ns);
}

}  // namespace

Runner::Runner(const Benchmark& benchmark, const Options& options, const Fault& fault,
               const World& world, Report& report)
    : benchmark_(benchmark),
      options_(options),
      fault_(fault),
      world_(world),
      report_(report),
      exchange_(benchmark.set_up(
          world, *std::max_element(options.sizes_bytes.begin(), options.sizes_bytes.end()))),
      samples_ns_(timing::max_samples) {}

bool Runner::run() {
  report_.columns();
  bool verified = true;
  for (const std::int64_t size : options_.sizes_bytes) {
    exchange_.msg_size = static_cast<int>(size);
    const Count count = measure_size();
    verified = all_verified();
    report_size(count);
    if (fault_.kind == Fault::Kind::hang && world_.rank == 0) hang();
    if (!verified) break;
  }
  if (mismatch_) complain(benchmark_, world_.rank, *mismatch_);
  report_.key("verified", verified ? "yes" : "no");
  report_.key("payload_bytes", payload_.bytes);
  report_.key("payload_messages", payload_.messages);
  return verified;
}

Runner::Count Runner::measure_size() {
  if (options_.check) {
    CheckedOperation checked(benchmark_, exchange_, fault_, mismatch_);
    return measure_with(checked);
  }
  Count count;
  if (fault_.kind == Fault::Kind::slow) {
    SlowedOperation slowed(benchmark_, exchange_, fault_);
    count = measure_with(slowed);
  } else {
    TimedOperation timed{benchmark_, exchange_};
    count = measure_with(timed);
  }
  count.verification = 1;
  verify_once(count.pilot + count.plan.warmup + count.plan.iterations());
  return count;
}

template <class Op>
Runner::Count Runner::measure_with(Op& operation) {
  const std::int64_t size = exchange_.msg_size;
  std::int64_t iterations =
      timing::scaled_count(options_.iterations, size, timing::least_iterations);
  std::int64_t warmup = timing::scaled_count(options_.warmup, size, timing::least_warmup);
  Count count;
  if (options_.time_limit_s > 0.0) {
    count.pilot = pilot_iterations;
    const double iteration_s = pilot_s(world_, operation);
    iterations = timing::limited_count(iterations, options_.time_limit_s, iteration_s);
    warmup = std::min(warmup, iterations);
  }
  count.plan = timing::make_plan(iterations, warmup);
  timing::measure(world_.comm, operation, count.plan, count.pilot,
                  std::span(samples_ns_).first(static_cast<std::size_t>(count.plan.samples)));
  return count;
}

void Runner::verify_once(std::int64_t iteration) {
  CheckedOperation checked(benchmark_, exchange_, fault_, mismatch_);
  timing::repeat(checked, iteration, 1);
}

bool Runner::all_verified() const {
  int wrong = mismatch_ ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_MAX, world_.comm);
  return wrong == 0;
}

void Runner::report_size(const Count& count) {
  const std::int64_t size = exchange_.msg_size;
  const std::int64_t warmup = count.pilot + count.plan.warmup;
  const std::int64_t all = warmup + count.plan.iterations() + count.verification;
  const Traffic moved = benchmark_.moved(world_.ranks, size);
  payload_.messages += all * moved.messages;
  payload_.bytes += all * moved.bytes;

  const std::string suffix = std::string(1, '.').append(std::to_string(size));
  report_.key("iterations" + suffix, count.plan.iterations());
  report_.key("warmup" + suffix, warmup);
  report_.key("verification" + suffix, count.verification);
  report_.key("sample_stride" + suffix, count.plan.stride);

  const int samples = static_cast<int>(count.plan.samples);
  const std::string case_name = benchmark_.case_name(world_.ranks);
  const Report::Series series{.benchmark = benchmark_.name,
                              .case_name = case_name,
                              .metric = benchmark_.metric,
                              .msg_size_bytes = size,
                              .values_per_run = benchmark_.values_per_run};
  const int reporting = benchmark_.reporting_ranks(world_.ranks);
  if (world_.rank > 0 && world_.rank < reporting) {
    MPI_Send(samples_ns_.data(), samples, MPI_INT64_T, 0, samples_tag, world_.comm);
  }
  for (int rank = 0; world_.rank == 0 && rank < reporting; ++rank) {
    if (rank > 0) {
      MPI_Recv(samples_ns_.data(), samples, MPI_INT64_T, rank, samples_tag, world_.comm,
               MPI_STATUS_IGNORE);
    }
    report_.rows(
        series, rank,
        std::span<const std::int64_t>(samples_ns_).first(static_cast<std::size_t>(samples)));
  }
  report_.flush();
}

}  // namespace fabricbench::micro
