// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "endpoints/client_server.hpp"
#include "micro/benchmark.hpp"
#include "micro/options.hpp"

namespace fabricbench::endpoints {

/// multiconn over libfabric (Rashti and Afsahi 2007, section 5.1): each connection is a pair of
/// endpoints.
extern const micro::Benchmark multiconn;

/// The buffers for these options. Throws UsageError if those of both processes exceed a quarter of
/// the memory.
[[nodiscard]] Buffers make_buffers(const micro::Options& options);

/// One part for each quantity of multiconn. They share the connections of `processes`.
[[nodiscard]] std::vector<std::unique_ptr<micro::Part>> make_parts(ClientServer& processes);

}  // namespace fabricbench::endpoints
