// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "endpoints/peer.hpp"
#include "micro/buffer.hpp"
#include "micro/pattern.hpp"

namespace fabricbench::endpoints {

/// Messages each way on each connection in one window.
inline constexpr int messages_per_connection = 8;

/// What libfabric could not do, and why.
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

/// The first provider that FI_PROVIDER allows, of connected endpoints (FI_EP_MSG) if there is one,
/// else of reliable datagrams (FI_EP_RDM).
class Network {
 public:
  /// `address`: what endpoints are bound to where the provider has addresses of IP. Throws
  /// UsageError if there is no such provider, Refused.
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

/// The buffers of one process. What connections receive shares one; in checked mode each has its
/// own.
struct Buffers {
  micro::Buffer send, receive;
  std::size_t largest_size;
  bool checked;
};

/// This process' ends of a number of connections, an endpoint each; with reliable datagrams also an
/// address table each, which holds the peer's endpoint alone. All share one completion queue. The
/// other process calls the same functions.
class Connections {
 public:
  /// Opens `count` endpoints here and there. Throws Refused on both sides if one cannot.
  Connections(const Network& network, Peer& peer, bool initiates, std::size_t count,
              const Buffers& buffers);

  /// The size of all messages from now on.
  void use_size(std::size_t size) { size_ = size; }

  /// A message there and, when it has come, one back, on all connections at once.
  void round();
  /// Both sides send messages_per_connection on each, round robin.
  void window();

  /// Returns when the other side is here, too: an empty message each way on the first connection.
  void synchronise();
  /// Handles what has completed. Also drives providers that make no progress by themselves.
  void progress();

  [[nodiscard]] std::size_t count() const { return ends_.size(); }
  /// The payload that this side sends on every connection.
  [[nodiscard]] std::span<std::uint8_t> outgoing() const { return buffers_.send.first(size_); }
  /// Writes that payload.
  void fill(std::int64_t iteration);
  /// First wrong byte of what this side received in the iteration, if any.
  [[nodiscard]] std::optional<micro::Mismatch> verify(std::int64_t iteration) const;

 private:
  struct End {
    Handle<fid_av> addresses;  ///< of datagrams; before the endpoint, which is closed first
    Handle<fid_ep> endpoint;
    fi_addr_t peer = FI_ADDR_UNSPEC;
  };
  /// One send or receive; libfabric knows it by the address of its context.
  struct Transfer {
    fi_context2 context;
    bool done;
  };

  [[nodiscard]] std::string open(std::size_t count);
  void join(std::string_view names, std::size_t count);
  void add_end(fi_info* info);
  void connect(std::string_view name);
  void accept();
  [[nodiscard]] Info await(std::uint32_t wanted);
  void start_send(const End& end);
  void start_receive(std::size_t connection);
  void start(const char* call, auto post);
  void wait(const Transfer& transfer);
  void wait_all();
  [[noreturn]] void fail() const;
  [[nodiscard]] std::uint8_t* incoming(std::size_t connection) const;
  [[nodiscard]] micro::MessageId message(bool own, std::int64_t iteration) const;

  const Network& network_;
  Peer& peer_;
  const bool initiates_;
  const Buffers& buffers_;
  std::size_t size_ = 0;
  Handle<fid_cq> completions_;
  Handle<fid_eq> events_;      ///< of connected endpoints
  Handle<fid_pep> listening_;  ///< the server's
  std::vector<End> ends_;
  std::vector<Transfer> transfers_;
  std::size_t started_ = 0;
  std::size_t completed_ = 0;
  std::uint32_t idle_ = 0;
};

}  // namespace fabricbench::endpoints
