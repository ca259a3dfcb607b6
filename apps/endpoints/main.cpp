// SPDX-License-Identifier: Apache-2.0
//
// fabricbench-endpoints: the benchmark multiconn over libfabric, between a server and a client, on
// the provider that FI_PROVIDER names. It shares options, timing loop and output with
// fabricbench-micro, whose multiconn measures the same over MPI communicators. The client reports.
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <exception>
#include <span>
#include <string>
#include <string_view>

#include "common/complain.h"
#include "common/usage_error.hpp"
#include "endpoints/client_server.hpp"
#include "endpoints/connections.hpp"
#include "endpoints/multiconn.hpp"
#include "endpoints/peer.hpp"
#include "micro/help.hpp"
#include "micro/job.hpp"
#include "micro/options.hpp"
#include "micro/report.hpp"
#include "micro/runner.hpp"

namespace {

using namespace fabricbench;
using namespace fabricbench::endpoints;

constexpr const char* program = "fabricbench-endpoints";

constexpr std::string_view usage =
    R"(usage: fabricbench-endpoints listen ADDRESS PORT [options]
       fabricbench-endpoints connect ADDRESS PORT [options]
       fabricbench-endpoints --help | --version

Measures many connections between two processes, each a pair of libfabric endpoints (multiconn). The server listens at
an address of its own host. The client connects to that address and prints the results. Give both the same options.
Of --iterations N it times N/4 rounds and N/10 windows.
)";

constexpr std::string_view rest_of_help = R"(
environment:
  FI_PROVIDER              the provider of libfabric, one that fi_info lists; the same on both sides
  FABRICBENCH_CONNECT_LIMIT_S  seconds in which each connection must open, 1 to 3600 (10); else its number of
                           connections is skipped
  FABRICBENCH_MICRO_FAULT  injects a fault, for tests of the harness only; see fabricbench-micro --help

output: lines #@key=value and CSV. The last line is #@end=ok, or #@end=failed after a wrong answer.
exit code: 0 verified, 1 wrong answer or lost connection, 2 bad input.
)";

std::string help() {
  constexpr std::array benchmarks{&multiconn};
  return std::string(usage)
      .append(micro::options_help())
      .append(micro::own_options_help(benchmarks))
      .append(rest_of_help);
}

/// The request of the command line.
struct Request {
  bool serves = false;
  std::string address = {}, port = {};
  std::string words = {};  ///< the options, one per line
  micro::Job job = {};
};

Request parse_request(std::span<const char* const> arguments) {
  if (arguments.size() < 3) {
    throw UsageError(
        "expected \"listen\" or \"connect\", an address and a port as first arguments; see --help");
  }
  const std::string_view role = arguments[0];
  if (role != "listen" && role != "connect") {
    throw UsageError("first argument: \"" + std::string(role) +
                     "\" is neither \"listen\" nor \"connect\"; see --help");
  }
  const auto options = arguments.subspan(3);
  Request request{.serves = role == "listen",
                  .address = arguments[1],
                  .port = arguments[2],
                  .job = micro::parse_job(program, multiconn, options)};
  for (const char* const word : options) request.words.append(word).append("\n");
  return request;
}

/// Raises the limit of open files to its maximum, because every endpoint needs several files.
void allow_open_files() {
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0) return;
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
}

/// Exchanges options and host names with the other side. Returns both hosts, the server's first.
/// Throws UsageError if the options differ.
std::string exchange_hosts(Peer& peer, const Request& request) {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  const std::string own(name.data());
  const std::string reply = peer.exchange(request.words + own, [] {});
  const std::size_t length = request.words.size();
  if (reply.compare(0, length, request.words) != 0 ||
      reply.find('\n', length) != std::string::npos) {
    throw UsageError("the options of server and client differ; give both the same");
  }
  const std::string other = reply.substr(length);
  return request.serves ? own + "," + other : other + "," + own;
}

/// Throws UsageError unless both sides have the same provider.
void check_provider(Peer& peer, const Network& network) {
  const std::string other = peer.exchange(network.provider(), [] {});
  if (other == network.provider()) return;
  throw UsageError("FI_PROVIDER: this side has the provider " + network.provider() +
                   ", the other side " + other + "; set it to the same on both");
}

micro::Platform platform(const Network& network, const std::string& hosts) {
  const std::uint32_t version = fi_version();
  return {.libraries = {{"libfabric", std::to_string(FI_MAJOR(version)) + "." +
                                          std::to_string(FI_MINOR(version))},
                        {"provider", network.provider()},
                        {"domain", network.info().domain_attr->name},
                        {"endpoint_type", network.connected() ? "FI_EP_MSG" : "FI_EP_RDM"}},
          .ranks = 2,
          .hosts = hosts};
}

int run(const Request& request) {
  const Buffers buffers = make_buffers(request.job.options);
  allow_open_files();
  Peer peer(request.serves, request.address, request.port);
  const std::string hosts = exchange_hosts(peer, request);
  const Network network(peer.address());
  check_provider(peer, network);
  ClientServer processes(request.serves, network, peer, buffers);
  micro::Report report(processes.prints());
  micro::print_header(report, request.job, platform(network, hosts));
  const bool verified = micro::Runner(request.job, processes, make_parts(processes), report).run();
  return micro::finish(report, request.job, verified);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view first = argc > 1 ? argv[1] : "";
  if (first == "--version" || first == "--help" || first == "-h") {
    const std::string text = first == "--version" ? std::string(micro::version()) + "\n" : help();
    std::fputs(text.c_str(), stdout);
    return exit_verified;
  }
  try {
    return run(parse_request({argv + 1, argv + std::max(argc, 1)}));
  } catch (const UsageError& wrong) {
    complain_as(program, wrong.what());
    return exit_bad_input;
  } catch (const std::exception& failure) {
    complain_as(program, failure.what());
    return exit_wrong;
  }
}
