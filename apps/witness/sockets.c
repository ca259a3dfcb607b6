// SPDX-License-Identifier: Apache-2.0
//
// Sockets are kept in open-addressing tables by inode. A slot is claimed by compare-and-swap and
// never released. The counters of a socket only grow, so the maximum of all samples is the latest
// one, whatever their order.
#include <arpa/inet.h>
#include <linux/tcp.h>  // not <netinet/tcp.h>: glibc's struct tcp_info ends before the byte counters
#include <netinet/in.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "witness.h"

enum { TCP_CAPACITY = 4096, OTHER_CAPACITY = 1024 };

// The kernel's numbers of tcpi_state, which only <netinet/tcp.h> names.
enum { STATE_CLOSE_WAIT = 8, STATE_LAST_ACK = 9, STATE_CLOSING = 11 };

struct address {
  sa_family_t family;  // 0: unknown
  in_port_t port;      // network order
  unsigned char ip[16];
};

struct slot {
  _Atomic uint64_t inode;  // 0: free
  atomic_bool ready;       // the claimer has written the addresses
  struct address local, peer;
  bool same_node;  // the peer's address is one of this node
  _Atomic uint64_t tx_bytes, rx_bytes, tx_segs, rx_segs;
};

static struct slot tcp_slots[TCP_CAPACITY];
static _Atomic uint64_t other_inodes[OTHER_CAPACITY];
static _Atomic uint64_t tcp_count, udp_count, unix_count;
static _Atomic uint64_t dropped, dropped_tx_bytes, dropped_rx_bytes, dropped_tx_segs,
    dropped_rx_segs;

static size_t spread(uint64_t inode) {
  return (size_t)((inode * UINT64_C(0x9E3779B97F4A7C15)) >> 32);
}

enum claim { CLAIM_NEW, CLAIM_KNOWN, CLAIM_OTHER };

static enum claim claim(_Atomic uint64_t* key, uint64_t inode) {
  uint64_t seen = atomic_load(key);
  if (seen == 0 && atomic_compare_exchange_strong(key, &seen, inode)) return CLAIM_NEW;
  return seen == inode ? CLAIM_KNOWN : CLAIM_OTHER;
}

static void raise_to(_Atomic uint64_t* counter, uint64_t value) {
  uint64_t seen = atomic_load(counter);
  while (seen < value && !atomic_compare_exchange_weak(counter, &seen, value)) {
  }
}

static struct address address_of(const struct sockaddr_storage* raw) {
  struct address out = {.family = raw->ss_family};
  if (raw->ss_family == AF_INET) {
    const struct sockaddr_in* in = (const void*)raw;
    out.port = in->sin_port;
    memcpy(out.ip, &in->sin_addr, 4);
  } else if (raw->ss_family == AF_INET6) {
    const struct sockaddr_in6* in6 = (const void*)raw;
    out.port = in6->sin6_port;
    memcpy(out.ip, &in6->sin6_addr, 16);
    if (IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr)) {
      out.family = AF_INET;
      memcpy(out.ip, in6->sin6_addr.s6_addr + 12, 4);
    }
  }
  return out;
}

static void address_text(const struct address* address, char* text, size_t size) {
  struct sink out = sink_in(text, size);
  char ip[INET6_ADDRSTRLEN];
  if (address->family == 0 || !inet_ntop(address->family, address->ip, ip, sizeof ip)) return;
  bool six = address->family == AF_INET6;
  sink_string(&out, six ? "[" : "");
  sink_string(&out, ip);
  sink_string(&out, six ? "]:" : ":");
  sink_number(&out, ntohs(address->port));
}

// Reads the counters of a connection. Returns false if it neither exists nor has carried data. A
// closed or reset connection still has its counters.
static bool tcp_totals(int fd, bool connected, struct socket_totals* totals) {
  struct tcp_info info;
  socklen_t length = sizeof info;
  memset(&info, 0, sizeof info);  // an older kernel fills in less
  if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) != 0) return false;
  bool has_sent =
      length >= offsetof(struct tcp_info, tcpi_bytes_retrans) + sizeof info.tcpi_bytes_retrans;
  totals->tx_bytes =
      has_sent ? info.tcpi_bytes_sent - info.tcpi_bytes_retrans : info.tcpi_bytes_acked;
  totals->rx_bytes = info.tcpi_bytes_received;
  totals->tx_segs = info.tcpi_data_segs_out;
  totals->rx_segs = info.tcpi_data_segs_in;
  // The kernel counts a received FIN as one byte. In these states it has received one.
  bool got_fin = info.tcpi_state == STATE_CLOSE_WAIT || info.tcpi_state == STATE_LAST_ACK ||
                 info.tcpi_state == STATE_CLOSING;
  if (got_fin && totals->rx_bytes > 0) totals->rx_bytes--;
  return connected || totals->tx_bytes > 0 || totals->rx_bytes > 0;
}

// Works also after the peer has reset the connection, when getpeername() fails.
static struct address peer_address(int fd, int domain) {
  struct sockaddr_storage raw = {0};
  // The kernel refuses a buffer longer than the address.
  socklen_t length = domain == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
  struct address unknown = {0};
  return getsockopt(fd, SOL_SOCKET, SO_PEERNAME, &raw, &length) == 0 ? address_of(&raw) : unknown;
}

// Whether this node has the address: only then can a socket be bound to it. Opens a socket for that
// and closes it.
static bool is_of_this_node(const struct address* address) {
  struct sockaddr_in in = {.sin_family = AF_INET};
  struct sockaddr_in6 in6 = {.sin6_family = AF_INET6};
  bool six = address->family == AF_INET6;
  if (six)
    memcpy(&in6.sin6_addr, address->ip, sizeof in6.sin6_addr);
  else if (address->family == AF_INET)
    memcpy(&in.sin_addr, address->ip, sizeof in.sin_addr);
  else
    return false;
  int fd = (int)syscall(SYS_socket, address->family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return false;
  const void* name = six ? (const void*)&in6 : &in;
  bool bound = bind(fd, name, six ? sizeof in6 : sizeof in) == 0;
  syscall(SYS_close, fd);
  return bound;
}

static void drop(const struct socket_totals* totals) {
  atomic_fetch_add(&dropped, 1);
  atomic_fetch_add(&dropped_tx_bytes, totals->tx_bytes);
  atomic_fetch_add(&dropped_rx_bytes, totals->rx_bytes);
  atomic_fetch_add(&dropped_tx_segs, totals->tx_segs);
  atomic_fetch_add(&dropped_rx_segs, totals->rx_segs);
}

static void sample_tcp(int fd, int domain, uint64_t inode, enum sample_reason reason,
                       bool connected) {
  struct socket_totals totals;
  if (!tcp_totals(fd, connected, &totals)) return;
  atomic_fetch_add(&tcp_count, 1);
  struct slot* slot = NULL;
  for (size_t i = 0; i < TCP_CAPACITY && !slot; i++) {
    struct slot* candidate = &tcp_slots[(spread(inode) + i) % TCP_CAPACITY];
    enum claim result = claim(&candidate->inode, inode);
    if (result == CLAIM_OTHER) continue;
    slot = candidate;
    if (result == CLAIM_NEW) {
      struct sockaddr_storage local = {0};
      socklen_t length = sizeof local;
      if (getsockname(fd, (struct sockaddr*)&local, &length) == 0) slot->local = address_of(&local);
      slot->peer = peer_address(fd, domain);
      slot->same_node = is_of_this_node(&slot->peer);
      atomic_store(&slot->ready, true);
    }
  }
  if (!slot) {
    if (reason == SAMPLE_CLOSE || reason == SAMPLE_END)  // after other samples, a close follows
      drop(&totals);
    return;
  }
  raise_to(&slot->tx_bytes, totals.tx_bytes);
  raise_to(&slot->rx_bytes, totals.rx_bytes);
  raise_to(&slot->tx_segs, totals.tx_segs);
  raise_to(&slot->rx_segs, totals.rx_segs);
}

static void count_other(_Atomic uint64_t* counter, uint64_t inode) {
  for (size_t i = 0; i < OTHER_CAPACITY; i++) {
    enum claim result = claim(&other_inodes[(spread(inode) + i) % OTHER_CAPACITY], inode);
    if (result == CLAIM_KNOWN) return;
    if (result == CLAIM_NEW) break;
  }
  atomic_fetch_add(counter, 1);  // if the table is full, every close counts
}

static int option(int fd, int name) {
  int value = -1;
  socklen_t length = sizeof value;
  return getsockopt(fd, SOL_SOCKET, name, &value, &length) == 0 ? value : -1;
}

void sockets_sample(int fd, uint64_t inode, enum sample_reason reason) {
  int domain = option(fd, SO_DOMAIN);
  if (domain != AF_INET && domain != AF_INET6 && domain != AF_UNIX) return;
  struct sockaddr_storage peer = {0};
  socklen_t length = sizeof peer;
  bool connected = getpeername(fd, (struct sockaddr*)&peer, &length) == 0;
  int protocol = option(fd, SO_PROTOCOL);
  if (domain != AF_UNIX && protocol == IPPROTO_TCP)
    sample_tcp(fd, domain, inode, reason, connected);
  else if (connected && domain == AF_UNIX)
    count_other(&unix_count, inode);
  else if (connected && protocol == IPPROTO_UDP)
    count_other(&udp_count, inode);
}

bool sockets_next(size_t* cursor, struct socket_entry* entry) {
  for (; *cursor < TCP_CAPACITY; ++*cursor) {
    struct slot* slot = &tcp_slots[*cursor];
    uint64_t inode = atomic_load(&slot->inode);
    if (inode == 0) continue;
    struct address unknown = {0};
    bool ready = atomic_load(&slot->ready);  // false while another thread claims the slot
    entry->inode = inode;
    address_text(ready ? &slot->local : &unknown, entry->local, sizeof entry->local);
    address_text(ready ? &slot->peer : &unknown, entry->peer, sizeof entry->peer);
    entry->totals = (struct socket_totals){
        .tx_bytes = atomic_load(&slot->tx_bytes),
        .rx_bytes = atomic_load(&slot->rx_bytes),
        .tx_segs = atomic_load(&slot->tx_segs),
        .rx_segs = atomic_load(&slot->rx_segs),
    };
    ++*cursor;
    return true;
  }
  return false;
}

uint64_t sockets_dropped(struct socket_totals* totals) {
  *totals = (struct socket_totals){
      .tx_bytes = atomic_load(&dropped_tx_bytes),
      .rx_bytes = atomic_load(&dropped_rx_bytes),
      .tx_segs = atomic_load(&dropped_tx_segs),
      .rx_segs = atomic_load(&dropped_rx_segs),
  };
  return atomic_load(&dropped);
}

struct both_nodes sockets_carried(bool both_ways) {
  struct both_nodes out = {0};
  for (size_t i = 0; i < TCP_CAPACITY; i++) {
    struct slot* slot = &tcp_slots[i];
    if (atomic_load(&slot->inode) == 0) continue;
    struct carried* total = slot->same_node ? &out.same_node : &out.other_node;
    total->bytes += atomic_load(&slot->tx_bytes);
    total->segs += atomic_load(&slot->tx_segs);
    if (!both_ways) continue;
    total->bytes += atomic_load(&slot->rx_bytes);
    total->segs += atomic_load(&slot->rx_segs);
  }
  return out;
}

uint64_t sockets_udp(void) {
  return atomic_load(&udp_count);
}
uint64_t sockets_unix(void) {
  return atomic_load(&unix_count);
}
bool sockets_any_tcp(void) {
  return atomic_load(&tcp_count) > 0;
}

// Called only in a fork child, which has one thread.
void sockets_forget(void) {
  if (tcp_count)  // else the table is untouched, and a fork need not copy its pages
    memset(tcp_slots, 0, sizeof tcp_slots);
  memset(other_inodes, 0, sizeof other_inodes);
  tcp_count = udp_count = unix_count = 0;
  dropped = dropped_tx_bytes = dropped_rx_bytes = dropped_tx_segs = dropped_rx_segs = 0;
}
