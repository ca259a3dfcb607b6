// SPDX-License-Identifier: Apache-2.0
//
// Reads the counters of network interfaces from /proc/net/dev, because in a network namespace
// /sys/class/net may show those of the host, and of adapters' ports from /sys/class/infiniband and
// /sys/class/cxi.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "facts.h"

static const char* const counter_names[COUNTERS] = {"tx_bytes", "rx_bytes", "tx_packets",
                                                    "rx_packets"};

static struct port* add_port(struct port_list* list, const char* name) {
  struct port* items = realloc(list->items, (list->count + 1) * sizeof *items);
  if (!items) return NULL;
  list->items = items;
  struct port* port = &items[list->count++];
  *port = (struct port){0};
  snprintf(port->name, sizeof port->name, "%.63s", name);
  return port;
}

// "  eth0: RX bytes packets errs drop fifo frame compressed multicast TX bytes packets ..."
static void read_interfaces(struct port_list* list) {
  char line[1024];
  FILE* table = fopen("/proc/net/dev", "re");
  while (table && fgets(line, sizeof line, table)) {
    char name[sizeof((struct port*)NULL)->name];
    unsigned long long rx_bytes, rx_packets, tx_bytes, tx_packets;
    if (sscanf(line, " %63[^: ]: %llu %llu %*u %*u %*u %*u %*u %*u %llu %llu", name, &rx_bytes,
               &rx_packets, &tx_bytes, &tx_packets) != 5)
      continue;
    struct port* port = add_port(list, name);
    if (!port) break;
    port->interface = true;
    const uint64_t values[COUNTERS] = {tx_bytes, rx_bytes, tx_packets, rx_packets};
    for (int i = 0; i < COUNTERS; i++) {
      port->counters[i] = values[i];
      port->known[i] = true;
    }
  }
  if (table) fclose(table);
}

// Sets a counter to the file's number times unit. Does nothing if the counter is known already or
// the file is missing.
static void read_counter(struct port* port, int counter, const char* folder, const char* file,
                         unsigned unit) {
  char text[64], *end;
  read_in(folder, file, text, sizeof text);
  unsigned long long value = strtoull(text, &end, 10);
  if (end == text || port->known[counter]) return;
  port->counters[counter] = value * unit;
  port->known[counter] = true;
}

struct adapter {
  const char* name;
  struct port_list* list;
};

static void read_rdma_port(const char* number, void* context) {
  const struct adapter* adapter = context;
  char name[FOLDER], folder[FOLDER];
  snprintf(name, sizeof name, "%.200s:%.10s", adapter->name, number);
  struct port* port = add_port(adapter->list, name);
  if (!port) return;
  // Counts words of four bytes (InfiniBand Architecture Specification, PortCounters).
  snprintf(folder, sizeof folder, "%s/%.200s/ports/%.10s/counters", RDMA_FOLDER, adapter->name,
           number);
  read_counter(port, TX_BYTES, folder, "port_xmit_data", 4);
  read_counter(port, RX_BYTES, folder, "port_rcv_data", 4);
  read_counter(port, TX_PACKETS, folder, "port_xmit_packets", 1);
  read_counter(port, RX_PACKETS, folder, "port_rcv_packets", 1);
  // Soft-RoCE counts packets only.
  snprintf(folder, sizeof folder, "%s/%.200s/ports/%.10s/hw_counters", RDMA_FOLDER, adapter->name,
           number);
  read_counter(port, TX_PACKETS, folder, "sent_pkts", 1);
  read_counter(port, RX_PACKETS, folder, "rcvd_pkts", 1);
}

static void read_rdma_adapter(const char* name, void* context) {
  struct adapter adapter = {.name = name, .list = context};
  char folder[FOLDER];
  snprintf(folder, sizeof folder, "%s/%.200s/ports", RDMA_FOLDER, name);
  each_entry(folder, read_rdma_port, &adapter);
}

// A file holds "12345@1700000000.5": the count and its time.
static void read_cxi_adapter(const char* name, void* context) {
  char folder[FOLDER];
  struct port* port = add_port(context, name);
  if (!port) return;
  snprintf(folder, sizeof folder, "%s/%.200s/device/telemetry", CXI_FOLDER, name);
  read_counter(port, TX_BYTES, folder, "hni_sts_tx_ok_octets", 1);
  read_counter(port, RX_BYTES, folder, "hni_sts_rx_ok_octets", 1);
}

struct port_list read_ports(void) {
  struct port_list list = {0};
  read_interfaces(&list);
  each_entry(RDMA_FOLDER, read_rdma_adapter, &list);
  each_entry(CXI_FOLDER, read_cxi_adapter, &list);
  return list;
}

static const struct port* find_port(const struct port_list* list, const char* name) {
  for (size_t i = 0; list && i < list->count; i++)
    if (strcmp(list->items[i].name, name) == 0) return &list->items[i];
  return NULL;
}

static void count_or_null(struct json* out, const struct port* port, int counter) {
  if (port && port->known[counter])
    json_unsigned(out, NULL, port->counters[counter]);
  else
    json_null(out, NULL);
}

void counters(struct json* out, const struct port_list* before, const struct port_list* after) {
  json_begin_object(out, "counters");
  for (size_t i = 0; i < before->count; i++) {
    const struct port *first = &before->items[i], *then = find_port(after, first->name);
    json_begin_object(out, first->name);
    for (int counter = 0; counter < COUNTERS; counter++) {
      if (!first->known[counter]) continue;
      json_begin_array(out, counter_names[counter]);
      count_or_null(out, first, counter);
      count_or_null(out, then, counter);
      json_end_array(out);
    }
    json_end_object(out);
  }
  json_end_object(out);
}
