// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <sys/types.h>

#include <memory>
#include <stdexcept>
#include <string>

namespace fabricbench::endpoints {

/// A call of libfabric failed; the message names the call and the reason.
struct Refused : std::runtime_error {
  using std::runtime_error::runtime_error;
};

template <class T>
struct CloseHandle {
  void operator()(T* handle) const noexcept { fi_close(&handle->fid); }
};
/// Owns an object of libfabric.
template <class T>
using Handle = std::unique_ptr<T, CloseHandle<T>>;
using Info = std::unique_ptr<fi_info, decltype(&fi_freeinfo)>;

/// Throws Refused if `result`, which `call` returned, is an error.
void check(const char* call, ssize_t result);

/// The object that `open` creates through its argument. Throws Refused.
template <class T, class Open>
Handle<T> opened(const char* call, Open open) {
  T* handle = nullptr;
  check(call, open(&handle));
  return Handle<T>(handle);
}

/// The first provider that FI_PROVIDER allows, of connected endpoints (FI_EP_MSG) if there is one,
/// else of reliable datagrams (FI_EP_RDM).
class Network {
 public:
  /// `address`: the local address of endpoints if the provider uses IP addresses. Throws UsageError
  /// if no provider fits, and Refused.
  explicit Network(const std::string& address);

  [[nodiscard]] fi_info& info() const { return *info_; }
  [[nodiscard]] fid_fabric* fabric() const { return fabric_.get(); }
  [[nodiscard]] fid_domain* domain() const { return domain_.get(); }
  [[nodiscard]] bool connected() const { return info_->ep_attr->type == FI_EP_MSG; }
  [[nodiscard]] std::string provider() const { return info_->fabric_attr->prov_name; }

 private:
  Info info_;
  Handle<fid_fabric> fabric_;
  Handle<fid_domain> domain_;
};

}  // namespace fabricbench::endpoints
