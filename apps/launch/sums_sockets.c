// SPDX-License-Identifier: Apache-2.0
//
// Merges the ends of the connections of a node, first by socket, then by connection, then by pair
// of addresses.
#include <stdlib.h>
#include <string.h>

#include "sums.h"

static int compare(uint64_t a, uint64_t b) {
  return (a > b) - (a < b);
}

static int by_inode(const void* a, const void* b) {
  return compare(((const struct end*)a)->inode, ((const struct end*)b)->inode);
}

static const char* first_end(const struct end* one) {
  return strcmp(one->local, one->peer) < 0 ? one->local : one->peer;
}

static const char* second_end(const struct end* one) {
  return strcmp(one->local, one->peer) < 0 ? one->peer : one->local;
}

static int by_connection(const void* a, const void* b) {
  const struct end *one = a, *other = b;
  int order = strcmp(first_end(one), first_end(other));
  if (!order) order = strcmp(second_end(one), second_end(other));
  return order ? order : strcmp(one->local, other->local);
}

static int by_addresses(const void* a, const void* b) {
  const struct end *one = a, *other = b;
  int order = strcmp(one->local, other->local);
  if (!order) order = strcmp(one->peer, other->peer);
  return order ? order : (int)one->ends - (int)other->ends;
}

static uint64_t largest(uint64_t a, uint64_t b) {
  return a > b ? a : b;
}

// Two reports of one socket or of one end: the larger count holds.
static bool same_end(struct end* into, const struct end* one) {
  into->tx_bytes = largest(into->tx_bytes, one->tx_bytes);
  into->rx_bytes = largest(into->rx_bytes, one->rx_bytes);
  into->tx_segs = largest(into->tx_segs, one->tx_segs);
  into->rx_segs = largest(into->rx_segs, one->rx_segs);
  if (strcmp(into->peer, "-") == 0) memcpy(into->peer, one->peer, sizeof into->peer);
  return true;
}

static bool merge_socket(struct end* into, const struct end* one) {
  return into->inode == one->inode && same_end(into, one);
}

// Two ends of one connection: in each direction the larger count holds.
static bool merge_connection(struct end* into, const struct end* one) {
  if (strcmp(into->local, one->local) == 0 && strcmp(into->peer, one->peer) == 0)
    return same_end(into, one);
  if (strcmp(into->local, one->peer) != 0 || strcmp(into->peer, one->local) != 0) return false;
  into->tx_bytes = largest(into->tx_bytes, one->rx_bytes);
  into->rx_bytes = largest(into->rx_bytes, one->tx_bytes);
  into->tx_segs = largest(into->tx_segs, one->rx_segs);
  into->rx_segs = largest(into->rx_segs, one->tx_segs);
  into->ends = 2;
  return true;
}

static bool merge_addresses(struct end* into, const struct end* one) {
  if (by_addresses(into, one) != 0) return false;
  into->tx_bytes += one->tx_bytes;
  into->rx_bytes += one->rx_bytes;
  into->tx_segs += one->tx_segs;
  into->rx_segs += one->rx_segs;
  into->connections += one->connections;
  return true;
}

static void merge(struct list* sockets, int (*order)(const void*, const void*),
                  bool (*into)(struct end*, const struct end*)) {
  struct end* items = sockets->items;
  size_t kept = 0;
  if (!sockets->count) return;
  qsort(items, sockets->count, sizeof *items, order);
  for (size_t i = 1; i < sockets->count; i++)
    if (!into(&items[kept], &items[i])) items[++kept] = items[i];
  sockets->count = kept + 1;
}

// A connection that was reset may lack its peer's address; another end on this node may have it.
static void find_peers(struct list* sockets) {
  struct end* items = sockets->items;
  for (size_t i = 0; i < sockets->count; i++)
    for (size_t k = 0; k < sockets->count && strcmp(items[i].peer, "-") == 0; k++)
      if (strcmp(items[k].peer, items[i].local) == 0)
        memcpy(items[i].peer, items[k].local, sizeof items[i].peer);
}

static void remove_port(char* end) {
  char* colon = strrchr(end, ':');
  if (colon) *colon = '\0';
}

void merge_sockets(struct list* sockets) {
  merge(sockets, by_inode, merge_socket);
  find_peers(sockets);
  merge(sockets, by_connection, merge_connection);
  struct end* items = sockets->items;
  for (size_t i = 0; i < sockets->count; i++) {
    remove_port(items[i].local);
    remove_port(items[i].peer);
  }
  merge(sockets, by_addresses, merge_addresses);
}
