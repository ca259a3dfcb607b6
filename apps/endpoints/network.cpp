// SPDX-License-Identifier: Apache-2.0
#include "endpoints/network.hpp"

#include <rdma/fi_errno.h>

#include <cstdint>
#include <cstdlib>
#include <new>

#include "common/usage_error.hpp"
#include "micro/multiconn.hpp"

namespace fabricbench::endpoints {
namespace {

constexpr std::uint32_t interface_version = FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION);

Info find_provider(const std::string& address) {
  const Info hints(fi_allocinfo(), fi_freeinfo);
  if (!hints) throw std::bad_alloc();
  hints->caps = FI_MSG;
  hints->mode = FI_CONTEXT | FI_CONTEXT2;
  hints->tx_attr->size = micro::messages_per_connection;
  hints->rx_attr->size = micro::messages_per_connection;
  hints->domain_attr->threading = FI_THREAD_DOMAIN;
  hints->domain_attr->control_progress = FI_PROGRESS_MANUAL;
  hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
  hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
  int error = 0;
  const auto find = [&](const char* node, std::uint64_t flags) {
    fi_info* found = nullptr;
    error = fi_getinfo(interface_version, node, nullptr, flags, hints.get(), &found);
    return Info(found, fi_freeinfo);
  };
  for (const fi_ep_type type : {FI_EP_MSG, FI_EP_RDM}) {
    hints->ep_attr->type = type;
    Info found = find(nullptr, 0);
    // With a node given, other providers create the same names in both processes.
    if (found && found->addr_format >= FI_SOCKADDR && found->addr_format <= FI_SOCKADDR_IN6)
      found = find(address.c_str(), FI_SOURCE);
    if (found) return found;
  }
  const char* const provider = std::getenv("FI_PROVIDER");
  throw UsageError("FI_PROVIDER=" + std::string(provider == nullptr ? "" : provider) +
                   ": no provider of connections or reliable datagrams at " + address + ": " +
                   fi_strerror(-error) + "; name one that fi_info lists");
}

}  // namespace

void check(const char* call, ssize_t result) {
  if (result < 0) throw Refused(std::string(call) + ": " + fi_strerror(static_cast<int>(-result)));
}

Network::Network(const std::string& address) : info_(find_provider(address)) {
  fabric_ = opened<fid_fabric>(
      "fi_fabric", [&](auto out) { return fi_fabric(info_->fabric_attr, out, nullptr); });
  domain_ = opened<fid_domain>(
      "fi_domain", [&](auto out) { return fi_domain(fabric_.get(), info_.get(), out, nullptr); });
}

}  // namespace fabricbench::endpoints
