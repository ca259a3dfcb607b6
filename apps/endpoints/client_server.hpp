// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "endpoints/connections.hpp"
#include "endpoints/peer.hpp"
#include "micro/processes.hpp"

namespace fabricbench::endpoints {

/// A server, rank 0, and its client, rank 1, which prints. They share one set of connections.
class ClientServer final : public micro::Processes {
 public:
  static constexpr int server_rank = 0;
  static constexpr int client_rank = 1;

  /// The references must outlive this object.
  ClientServer(bool serves, const Network& network, Peer& peer, const Buffers& buffers)
      : Processes(serves ? server_rank : client_rank, 2, client_rank),
        network_(network),
        peer_(peer),
        buffers_(buffers) {}

  /// Replaces the connections by `count` new ones if their number differs. Returns 0, or 1 on both
  /// sides if libfabric cannot open them.
  [[nodiscard]] int open(std::size_t count);
  [[nodiscard]] Connections& connections() { return *connections_; }

  bool connected() const override { return connections_ != nullptr; }
  void synchronise() override { connections_->synchronise(); }
  std::int64_t largest(std::int64_t value) override;
  /// open() fails on both sides or on neither.
  int common_error(int error) override { return error; }
  std::string error_text(int /*error*/) const override { return refusal_; }
  /// Only the client reports, and it prints.
  std::span<std::int64_t> fetch(int /*from*/, std::span<std::int64_t> own,
                                std::span<std::int64_t> /*received*/) override {
    return own;
  }

 private:
  const Network& network_;
  Peer& peer_;
  const Buffers& buffers_;
  std::unique_ptr<Connections> connections_;
  std::string refusal_;  ///< reason why open() failed
};

}  // namespace fabricbench::endpoints
