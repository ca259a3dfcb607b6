// SPDX-License-Identifier: Apache-2.0
#include "endpoints/connections.hpp"

#include <rdma/fi_errno.h>
#include <sched.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <new>
#include <span>
#include <utility>

#include "common/usage_error.hpp"
#include "endpoints/handshake.hpp"
#include "micro/multiconn.hpp"
#include "timing/clock.hpp"

namespace fabricbench::endpoints {
namespace {

/// The number of polls without a completion after which the process yields its processor.
constexpr std::uint32_t patience = 128;
/// Shared memory of one endpoint, the most that libfabric 1.17 used.
constexpr std::uint64_t shm_bytes_of_endpoint = 8 << 20;

/// Returns the time limit for opening a connection: FABRICBENCH_CONNECT_LIMIT_S, or 10.
std::int64_t connect_limit_s() {
  const char* const text = std::getenv("FABRICBENCH_CONNECT_LIMIT_S");
  if (text == nullptr) return 10;
  const std::string_view word(text);
  std::int64_t seconds = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), seconds);
  if (error != std::errc{} || end != word.data() + word.size() || seconds < 1 || seconds > 3600) {
    throw UsageError("FABRICBENCH_CONNECT_LIMIT_S: \"" + std::string(word) +
                     "\" is not a number of seconds; expected a whole number from 1 to 3600");
  }
  return seconds;
}

/// Throws Refused if /dev/shm is too small. The provider shm does not check, and its first access
/// to memory that is not there would end the process.
void check_room(const Network& network, std::size_t count) {
  struct statvfs room{};
  if (network.provider() != "shm" || statvfs("/dev/shm", &room) != 0) return;
  const std::uint64_t needed = 2 * count * shm_bytes_of_endpoint;
  if (needed > static_cast<std::uint64_t>(room.f_bavail) * room.f_bsize)
    throw Refused("/dev/shm has no room for the " + std::to_string(needed) +
                  " bytes of both sides");
}

}  // namespace

Connections::Connections(const Network& network, Peer& peer, bool initiates, std::size_t count,
                         const Buffers& buffers)
    : network_(network),
      peer_(peer),
      initiates_(initiates),
      buffers_(buffers),
      transfers_(2 * micro::messages_per_connection * count) {
  const std::string names = in_step(peer_, [&] { return open(count); });
  in_step(peer_, [&] {
    join(names, count);
    return std::string();
  });
}

/// Opens everything that does not need the peer. Returns the names that the peer connects to.
std::string Connections::open(std::size_t count) {
  fi_cq_attr queue{};
  queue.size = transfers_.size();
  queue.format = FI_CQ_FORMAT_CONTEXT;
  completions_ = opened<fid_cq>(
      "fi_cq_open", [&](auto out) { return fi_cq_open(network_.domain(), &queue, out, nullptr); });
  std::string names;
  if (!network_.connected()) {
    check_room(network_, count);
    for (std::size_t i = 0; i < count; ++i) {
      add_end(&network_.info());
      names += name_of(ends_.back().endpoint->fid);
    }
    return names;
  }
  fi_eq_attr events{};
  events.wait_obj = FI_WAIT_NONE;
  events_ = opened<fid_eq>(
      "fi_eq_open", [&](auto out) { return fi_eq_open(network_.fabric(), &events, out, nullptr); });
  if (initiates_) return names;
  listening_ = opened<fid_pep>("fi_passive_ep", [&](auto out) {
    return fi_passive_ep(network_.fabric(), &network_.info(), out, nullptr);
  });
  check("fi_pep_bind", fi_pep_bind(listening_.get(), &events_->fid, 0));
  check("fi_listen", fi_listen(listening_.get()));
  return name_of(listening_->fid);
}

/// Connects to the peer's endpoints, one after the other.
void Connections::join(std::string_view names, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    if (!network_.connected()) {
      End& end = ends_[i];
      const std::string name(next_name(names));
      const int inserted = fi_av_insert(end.addresses.get(), name.data(), 1, &end.peer, 0, nullptr);
      check("fi_av_insert", inserted == 1 ? 0 : -FI_EADDRNOTAVAIL);
    } else if (initiates_) {
      std::string_view rest = names;
      connect(next_name(rest));
    } else {
      accept();
    }
  }
}

void Connections::add_end(fi_info* info) {
  End end;
  end.endpoint = opened<fid_ep>(
      "fi_endpoint", [&](auto out) { return fi_endpoint(network_.domain(), info, out, nullptr); });
  fid_ep* const endpoint = end.endpoint.get();
  if (network_.connected()) {
    check("fi_ep_bind", fi_ep_bind(endpoint, &events_->fid, 0));
  } else {
    fi_av_attr table{};
    table.count = 1;
    end.addresses = opened<fid_av>("fi_av_open", [&](auto out) {
      return fi_av_open(network_.domain(), &table, out, nullptr);
    });
    check("fi_ep_bind", fi_ep_bind(endpoint, &end.addresses->fid, 0));
  }
  check("fi_ep_bind", fi_ep_bind(endpoint, &completions_->fid, FI_TRANSMIT | FI_RECV));
  check("fi_enable", fi_enable(endpoint));
  ends_.push_back(std::move(end));
}

void Connections::connect(std::string_view name) {
  const Info info(fi_dupinfo(&network_.info()), fi_freeinfo);
  if (!info) throw std::bad_alloc();
  info->dest_addr = std::malloc(name.size());
  if (info->dest_addr == nullptr) throw std::bad_alloc();
  info->dest_addrlen = name.copy(static_cast<char*>(info->dest_addr), name.size());
  add_end(info.get());
  check("fi_connect", fi_connect(ends_.back().endpoint.get(), info->dest_addr, nullptr, 0));
  static_cast<void>(await(FI_CONNECTED));
}

void Connections::accept() {
  const Info info = await(FI_CONNREQ);
  add_end(info.get());
  check("fi_accept", fi_accept(ends_.back().endpoint.get(), nullptr, 0));
  static_cast<void>(await(FI_CONNECTED));
}

/// Waits for an event of a connection that is being opened. The time is limited, because a side
/// without a free file descriptor sends nothing.
Info Connections::await(std::uint32_t wanted) {
  const std::int64_t limit_s = connect_limit_s();
  const std::int64_t deadline = timing::now_ns() + limit_s * 1'000'000'000;
  for (;;) {
    std::uint32_t event = 0;
    fi_eq_cm_entry entry{};
    const ssize_t size = fi_eq_read(events_.get(), &event, &entry, sizeof entry, 0);
    if (size == -FI_EAVAIL) {
      fi_eq_err_entry wrong{};
      fi_eq_readerr(events_.get(), &wrong, 0);
      check("the connection", -wrong.err);
    }
    if (size == -FI_EAGAIN) {
      if (peer_.says(refusal)) throw Refused("");
      if (timing::now_ns() > deadline)
        throw Refused("no connection within " + std::to_string(limit_s) + " s");
      sched_yield();
      continue;
    }
    check("fi_eq_read", size);
    Info info(entry.info, fi_freeinfo);
    if (event == wanted) return info;
  }
}

void Connections::round() {
  for (std::size_t i = 0; i < ends_.size(); ++i) start_receive(i);
  for (std::size_t i = 0; i < ends_.size(); ++i) {
    if (!initiates_) wait(transfers_[i]);
    start_send(ends_[i]);
  }
  wait_all();
}

void Connections::window() {
  for (int i = 0; i < micro::messages_per_connection; ++i) {
    for (std::size_t connection = 0; connection < ends_.size(); ++connection)
      start_receive(connection);
  }
  for (int i = 0; i < micro::messages_per_connection; ++i) {
    for (const End& end : ends_) start_send(end);
  }
  wait_all();
}

void Connections::synchronise() {
  const std::size_t size = std::exchange(size_, 0);
  start_receive(0);
  start_send(ends_.front());
  wait_all();
  size_ = size;
}

void Connections::fill(std::int64_t iteration) {
  micro::fill_pattern(outgoing(), message(true, iteration));
}

std::optional<micro::Mismatch> Connections::verify(std::int64_t iteration) const {
  std::optional<micro::Mismatch> wrong;
  for (std::size_t i = 0; i < ends_.size() && !wrong; ++i)
    wrong = micro::find_mismatch({incoming(i), size_}, message(false, iteration));
  return wrong;
}

void Connections::start_send(const End& end) {
  start("fi_send", [&](void* context) {
    return fi_send(end.endpoint.get(), buffers_.send.data(), size_, nullptr, end.peer, context);
  });
}

void Connections::start_receive(std::size_t connection) {
  start("fi_recv", [&](void* context) {
    return fi_recv(ends_[connection].endpoint.get(), incoming(connection), size_, nullptr,
                   FI_ADDR_UNSPEC, context);
  });
}

/// Posts the next transfer. Tries again while the provider's queue is full.
void Connections::start(const char* call, auto post) {
  Transfer& transfer = transfers_[started_++];
  transfer.done = false;
  ssize_t result = post(&transfer.context);
  for (; result == -FI_EAGAIN; result = post(&transfer.context)) progress();
  check(call, result);
}

void Connections::wait(const Transfer& transfer) {
  while (!transfer.done) progress();
}

void Connections::wait_all() {
  while (completed_ < started_) progress();
  started_ = completed_ = 0;
}

void Connections::progress() {
  std::array<fi_cq_entry, 64> entries;
  const ssize_t count = fi_cq_read(completions_.get(), entries.data(), entries.size());
  if (count == -FI_EAGAIN) {
    if (++idle_ % patience == 0) sched_yield();
    if (idle_ % (64 * patience) == 0) static_cast<void>(peer_.says(refusal));
    return;
  }
  idle_ = 0;
  if (count < 0) fail();
  for (const fi_cq_entry& entry : std::span(entries).first(static_cast<std::size_t>(count)))
    static_cast<Transfer*>(entry.op_context)->done = true;
  completed_ += static_cast<std::size_t>(count);
}

/// Throws Refused with the reason of a failed transfer.
void Connections::fail() const {
  fi_cq_err_entry entry{};
  const ssize_t count = fi_cq_readerr(completions_.get(), &entry, 0);
  throw Refused(count == 1 ? std::string("a transfer failed: ") + fi_strerror(entry.err)
                           : "fi_cq_read: " + std::string(fi_strerror(static_cast<int>(-count))));
}

std::uint8_t* Connections::incoming(std::size_t connection) const {
  return buffers_.receive.data() + (buffers_.checked ? connection * buffers_.largest_size : 0);
}

/// Rank 0 is the server, rank 1 the client, which initiates.
micro::MessageId Connections::message(bool own, std::int64_t iteration) const {
  return {.sender = own == initiates_ ? 1 : 0,
          .msg_size_bytes = static_cast<std::int64_t>(size_),
          .iteration = iteration};
}

}  // namespace fabricbench::endpoints
