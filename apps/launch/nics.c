// SPDX-License-Identifier: Apache-2.0
//
// Reads the properties of network interfaces by ioctl, because in a network namespace
// /sys/class/net may show those of the host, and of adapters' ports from /sys/class/infiniband and
// /sys/class/cxi.
#include <math.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

// After the headers above, whose types it needs.
#include <linux/ethtool.h>
#include <linux/sockios.h>

#include "facts.h"

static const char pci[] = "/sys/bus/pci/devices";

struct nic {
  const char* kind;
  char driver[64], firmware[64], model[32], pcie_speed[64], link_layer[32], state[32];
  char lid[16], sm_lid[16], interface[64];
  double speed_mbit, mtu, pcie_width, numa_node;
};

// "0x15b3" and "0x1017" become "15b3:1017".
static void read_pci(const char* device, struct nic* nic) {
  char vendor[16], model[16];
  read_in(device, "vendor", vendor, sizeof vendor);
  read_in(device, "device", model, sizeof model);
  if (strncmp(vendor, "0x", 2) == 0 && strncmp(model, "0x", 2) == 0)
    snprintf(nic->model, sizeof nic->model, "%s:%s", vendor + 2, model + 2);
  read_in(device, "current_link_speed", nic->pcie_speed, sizeof nic->pcie_speed);
  nic->pcie_width = read_number(device, "current_link_width");
  nic->numa_node = read_number(device, "numa_node");
  if (nic->numa_node < 0) nic->numa_node = (double)NAN;
}

// Reads a property of an interface into *about. Returns false if the kernel does not know it.
static bool query(int socket, unsigned long request, const char* name, struct ifreq* about) {
  snprintf(about->ifr_name, sizeof about->ifr_name, "%.*s", IFNAMSIZ - 1, name);
  return socket >= 0 && ioctl(socket, request, about) == 0;
}

static bool query_ethtool(int socket, const char* name, void* answer) {
  struct ifreq about = {.ifr_data = answer};
  return query(socket, SIOCETHTOOL, name, &about);
}

static void copy_text(char* to, size_t size, const char* from, size_t length) {
  snprintf(to, size, "%.*s", (int)strnlen(from, length), from);
}

static void read_driver(int socket, const char* name, struct nic* nic) {
  struct ethtool_drvinfo driver = {.cmd = ETHTOOL_GDRVINFO};
  if (!query_ethtool(socket, name, &driver)) return;
  copy_text(nic->driver, sizeof nic->driver, driver.driver, sizeof driver.driver);
  copy_text(nic->firmware, sizeof nic->firmware, driver.fw_version, sizeof driver.fw_version);
  if (strcmp(nic->firmware, "N/A") == 0) nic->firmware[0] = '\0';
  char bus[ETHTOOL_BUSINFO_LEN + 1], device[FOLDER];
  copy_text(bus, sizeof bus, driver.bus_info, sizeof driver.bus_info);
  if (!*bus || strchr(bus, '/')) return;
  snprintf(device, sizeof device, "%s/%s", pci, bus);
  read_pci(device, nic);
}

static const char* hardware_kind(unsigned short type) {
  switch (type) {
    case ARPHRD_ETHER:
      return "ethernet";
    case ARPHRD_LOOPBACK:
      return "loopback";
    case ARPHRD_INFINIBAND:
      return "ipoib";
    default:
      return "other";
  }
}

static void read_interface(const char* name, struct nic* nic) {
  int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  struct ifreq about = {0};
  if (query(fd, SIOCGIFHWADDR, name, &about)) nic->kind = hardware_kind(about.ifr_hwaddr.sa_family);
  if (query(fd, SIOCGIFMTU, name, &about)) nic->mtu = about.ifr_mtu;
  if (query(fd, SIOCGIFFLAGS, name, &about))
    snprintf(nic->state, sizeof nic->state, "%s", about.ifr_flags & IFF_RUNNING ? "up" : "down");
  struct ethtool_cmd settings = {.cmd = ETHTOOL_GSET};
  if (query_ethtool(fd, name, &settings) && ethtool_cmd_speed(&settings) != (__u32)SPEED_UNKNOWN)
    nic->speed_mbit = ethtool_cmd_speed(&settings);
  read_driver(fd, name, nic);
  if (fd >= 0) close(fd);
}

static void read_driver_link(const char* device, struct nic* nic) {
  char path[FOLDER + 16], target[PATH_MAX];
  snprintf(path, sizeof path, "%.*s/driver", FOLDER, device);
  ssize_t length = readlink(path, target, sizeof target - 1);
  if (length <= 0) return;
  target[length] = '\0';
  const char* slash = strrchr(target, '/');
  snprintf(nic->driver, sizeof nic->driver, "%.63s", slash ? slash + 1 : target);
}

// node_type: "1: CA" is a channel adapter, "4: RNIC" an iWARP one.
static const char* rdma_kind(const struct nic* nic, const char* node_type) {
  if (strcmp(nic->driver, "hfi1") == 0) return "opa";
  if (*node_type == '4') return "iwarp";
  if (*node_type != '1') return "other";
  return strcmp(nic->link_layer, "Ethernet") == 0 ? "roce" : "infiniband";
}

struct mac {
  char text[32];    // 52:54:00:78:02:01
  char* interface;  // of struct nic
};

static void compare_mac(const char* name, void* context) {
  const struct mac* mac = context;
  char folder[FOLDER], address[64];
  snprintf(folder, sizeof folder, "/sys/class/net/%.63s", name);
  read_in(folder, "address", address, sizeof address);
  if (strcmp(address, mac->text) == 0)
    snprintf(mac->interface, sizeof((struct nic*)NULL)->interface, "%.63s", name);
}

// RoCE names the interface of each GID. The GID of an iWARP adapter begins with the hardware
// address of its interface.
static void read_rdma_interface(const char* port, struct nic* nic) {
  char folder[FOLDER + 32], gid[64];
  snprintf(folder, sizeof folder, "%s/gid_attrs/ndevs", port);
  read_in(folder, "0", nic->interface, sizeof nic->interface);
  if (*nic->interface || strcmp(nic->kind, "iwarp") != 0) return;
  snprintf(folder, sizeof folder, "%s/gids", port);
  read_in(folder, "0", gid, sizeof gid);
  if (strlen(gid) < 14) return;
  struct mac mac = {.interface = nic->interface};
  snprintf(mac.text, sizeof mac.text, "%.2s:%.2s:%.2s:%.2s:%.2s:%.2s", gid, gid + 2, gid + 5,
           gid + 7, gid + 10, gid + 12);
  each_entry("/sys/class/net", compare_mac, &mac);
}

static void read_rdma(const char* name, struct nic* nic) {
  char adapter[FOLDER], device[FOLDER], port[FOLDER], text[64];
  int length = (int)(strrchr(name, ':') - name);
  snprintf(adapter, sizeof adapter, "%s/%.*s", RDMA_FOLDER, length, name);
  snprintf(device, sizeof device, "%s/%.*s/device", RDMA_FOLDER, length, name);
  snprintf(port, sizeof port, "%s/%.*s/ports/%s", RDMA_FOLDER, length, name, name + length + 1);
  read_pci(device, nic);
  read_driver_link(device, nic);
  read_in(adapter, "fw_ver", nic->firmware, sizeof nic->firmware);
  read_in(port, "link_layer", nic->link_layer, sizeof nic->link_layer);
  read_in(port, "state", text, sizeof text);  // "4: ACTIVE"
  const char* state = strstr(text, ": ");
  snprintf(nic->state, sizeof nic->state, "%.31s", state ? state + 2 : text);
  read_in(port, "lid", nic->lid, sizeof nic->lid);
  read_in(port, "sm_lid", nic->sm_lid, sizeof nic->sm_lid);
  nic->speed_mbit = 1000 * read_number(port, "rate");  // "100 Gb/sec (4X EDR)"
  read_in(adapter, "node_type", text, sizeof text);
  nic->kind = rdma_kind(nic, text);
  read_rdma_interface(port, nic);
}

static void read_cxi(const char* name, struct nic* nic) {
  char device[FOLDER];
  snprintf(device, sizeof device, "%s/%s/device", CXI_FOLDER, name);
  read_pci(device, nic);
  read_driver_link(device, nic);
  nic->kind = "cxi";
}

static void nic_fields(struct json* out, const struct nic* nic) {
  json_string_or_null(out, "kind", nic->kind);
  json_string_or_null(out, "driver", nic->driver);
  json_string_or_null(out, "firmware", nic->firmware);
  json_string_or_null(out, "model", nic->model);
  number_or_null(out, "speed_mbit", nic->speed_mbit);
  number_or_null(out, "mtu", nic->mtu);
  json_string_or_null(out, "pcie_speed", nic->pcie_speed);
  number_or_null(out, "pcie_width", nic->pcie_width);
  number_or_null(out, "numa_node", nic->numa_node);
  json_string_or_null(out, "link_layer", nic->link_layer);
  json_string_or_null(out, "state", nic->state);
  json_string_or_null(out, "lid", nic->lid);
  json_string_or_null(out, "sm_lid", nic->sm_lid);
  json_string_or_null(out, "interface", nic->interface);
}

static struct nic read_nic(const struct port* port) {
  const double unknown = (double)NAN;
  struct nic nic = {.kind = "other",
                    .speed_mbit = unknown,
                    .mtu = unknown,
                    .pcie_width = unknown,
                    .numa_node = unknown};
  if (port->interface)
    read_interface(port->name, &nic);
  else if (strchr(port->name, ':'))
    read_rdma(port->name, &nic);
  else
    read_cxi(port->name, &nic);
  return nic;
}

void nics(struct json* out, const struct port_list* ports) {
  json_begin_array(out, "nics");
  for (size_t i = 0; i < ports->count; i++) {
    const struct nic nic = read_nic(&ports->items[i]);
    json_begin_object(out, NULL);
    json_string(out, "name", ports->items[i].name);
    nic_fields(out, &nic);
    json_end_object(out);
  }
  json_end_array(out);
}
