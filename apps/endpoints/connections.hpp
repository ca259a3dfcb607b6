// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "endpoints/network.hpp"
#include "endpoints/peer.hpp"
#include "micro/buffer.hpp"
#include "micro/pattern.hpp"

namespace fabricbench::endpoints {

/// The buffers of one process. All connections receive into one buffer; in checked mode each
/// connection has its own.
struct Buffers {
  micro::Buffer send, receive;
  std::size_t largest_size;
  bool checked;
};

/// The ends of several connections in one process. Each end is an endpoint; with reliable datagrams
/// it also has an address table, which holds only the peer's endpoint. All ends share one
/// completion queue. Both processes call the same functions.
class Connections {
 public:
  /// Opens `count` endpoints on each side. Throws Refused on both sides if one side fails.
  Connections(const Network& network, Peer& peer, bool initiates, std::size_t count,
              const Buffers& buffers);

  /// Sets the size of all further messages.
  void use_size(std::size_t size) { size_ = size; }

  /// Ping-pong of one message on all connections at once.
  void round();
  /// Both sides send messages_per_connection messages on each connection, round robin.
  void window();

  /// Returns when both sides have called it: sends an empty message each way on the first
  /// connection.
  void synchronise();
  /// Handles completed transfers. Also drives providers that make no progress by themselves.
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
    Handle<fid_av> addresses;  ///< only for datagrams; destroyed after the endpoint
    Handle<fid_ep> endpoint;
    fi_addr_t peer = FI_ADDR_UNSPEC;
  };
  /// One send or receive. libfabric returns the address of `context` when it completes.
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
  Handle<fid_eq> events_;      ///< only for connected endpoints
  Handle<fid_pep> listening_;  ///< only on the server
  std::vector<End> ends_;
  std::vector<Transfer> transfers_;
  std::size_t started_ = 0;
  std::size_t completed_ = 0;
  std::uint32_t idle_ = 0;
};

}  // namespace fabricbench::endpoints
