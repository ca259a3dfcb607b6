// SPDX-License-Identifier: Apache-2.0
//
// The connection between the two sides. The first task listens on one of a few ports that follow
// from the job's number; the second finds the first one's node in Slurm's list of the step's nodes.
// Both say the job's number, because another program may listen on such a port.
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "client_server.h"
#include "facts.h"

enum { FIRST_PORT = 20000, PORTS = 12000, CANDIDATES = 16, NAME = 256, HELLO = 300 };
static const double open_s = 60, answer_s = 2, pause_s = 0.02;

static const char* variable(const char* name) {
  const char* value = getenv(name);
  if (value && *value) return value;
  complain("%s is not set: --interface is for two tasks that srun starts, one on each node", name);
  exit(EXIT_USE);
}

bool is_server_side(void) {
  return strcmp(variable("SLURM_PROCID"), "0") == 0;
}

// The text that both sides know and no other job says.
static void hello(char* text, size_t size) {
  snprintf(text, size, "fabricbench %.100s.%.100s", variable("SLURM_JOB_ID"),
           variable("SLURM_STEP_ID"));
}

static int candidate_port(unsigned number) {
  char text[HELLO];
  hello(text, sizeof text);
  uint32_t hash = 2166136261u;  // FNV-1a
  for (const char* letter = text; *letter; letter++)
    hash = (hash ^ (unsigned char)*letter) * 16777619u;
  return FIRST_PORT + (int)((hash + number) % PORTS);
}

// The first name of a list such as "n[1-4,7],m1": the name of the server's node.
static void first_node(const char* list, char* name, size_t size) {
  size_t length = 0;
  bool skips = false;
  int depth = 0;
  for (; *list && length + 1 < size && (depth || *list != ','); list++) {
    if (*list == '[') {
      depth++;
    } else if (*list == ']') {
      depth--;
      skips = false;
    } else {
      skips = skips || (depth && (*list == '-' || *list == ','));
      if (!skips) name[length++] = *list;
    }
  }
  name[length] = '\0';
}

static struct link link_over(int fd) {
  int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
  struct link link = {.fd = fd, .in = fdopen(fd, "r"), .out = copy < 0 ? NULL : fdopen(copy, "w")};
  if (link.in && link.out) return link;
  complain("cannot use a connection: %s", strerror(errno));
  exit(EXIT_LOST);
}

static void close_link(struct link* link) {
  fclose(link->in);
  fclose(link->out);
}

void send_line(struct link* link, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vfprintf(link->out, format, arguments);
  va_end(arguments);
  fputc('\n', link->out);
  fflush(link->out);
}

bool receive_line(struct link* link, char* line, int size) {
  if (!fgets(line, size, link->in)) return false;
  line[strcspn(line, "\n")] = '\0';
  return true;
}

static bool readable(int fd, double seconds) {
  struct pollfd polled = {.fd = fd, .events = POLLIN};
  return poll(&polled, 1, (int)(seconds * 1e3)) > 0;
}

// Exchanges the hello of the job. Returns false, and closes the link, if the other side says
// another.
static bool same_job(struct link* link) {
  char own[HELLO], other[HELLO];
  hello(own, sizeof own);
  send_line(link, "%s", own);
  if (readable(link->fd, answer_s) && receive_line(link, other, sizeof other) &&
      strcmp(own, other) == 0)
    return true;
  close_link(link);
  return false;
}

// A socket that listens on the first candidate port that is free.
static int listening_socket(void) {
  const int off = 0, on = 1;
  for (unsigned i = 0; i < CANDIDATES; i++) {
    struct sockaddr_in6 any = {.sin6_family = AF_INET6,
                               .sin6_addr = IN6ADDR_ANY_INIT,
                               .sin6_port = htons((uint16_t)candidate_port(i))};
    struct sockaddr_in any4 = {.sin_family = AF_INET, .sin_port = any.sin6_port};
    int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool six = fd >= 0;
    if (!six) fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) continue;
    setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    const struct sockaddr* address = six ? (struct sockaddr*)&any : (struct sockaddr*)&any4;
    if (bind(fd, address, six ? sizeof any : sizeof any4) == 0 && listen(fd, 4) == 0) return fd;
    close(fd);
  }
  complain("no port from %d is free for the connection to the client's node", candidate_port(0));
  exit(EXIT_LOST);
}

static struct link accept_link(void) {
  int listening = listening_socket();
  for (double end_s = monotonic_s() + open_s; monotonic_s() < end_s;) {
    int fd = readable(listening, answer_s) ? accept4(listening, NULL, NULL, SOCK_CLOEXEC) : -1;
    if (fd < 0) continue;
    struct link link = link_over(fd);
    if (!same_job(&link)) continue;
    close(listening);
    return link;
  }
  complain("the client's node did not connect within %g s; see its messages", open_s);
  exit(EXIT_LOST);
}

// Connects within answer_s. Returns the socket, or -1.
static int connect_to(const struct addrinfo* address) {
  int fd = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return -1;
  int error = connect(fd, address->ai_addr, address->ai_addrlen) == 0 ? 0 : errno;
  if (error == EINPROGRESS) {
    struct pollfd polled = {.fd = fd, .events = POLLOUT};
    socklen_t length = sizeof error;
    if (poll(&polled, 1, (int)(answer_s * 1e3)) != 1 ||
        getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) != 0)
      error = ETIMEDOUT;
  }
  if (error == 0) {
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
    return fd;
  }
  close(fd);
  errno = error;
  return -1;
}

// Tries each address of the node on one port. Returns whether a server of this job answered.
static bool try_port(const char* node, int port, struct link* link, const char** problem) {
  struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *first = NULL;
  char service[16];
  snprintf(service, sizeof service, "%d", port);
  int error = getaddrinfo(node, service, &hints, &first);
  if (error) {
    *problem = gai_strerror(error);
    return false;
  }
  bool opened = false;
  for (const struct addrinfo* one = first; one && !opened; one = one->ai_next) {
    int fd = connect_to(one);
    if (fd < 0) {
      *problem = strerror(errno);
      continue;
    }
    *link = link_over(fd);
    opened = same_job(link);
  }
  freeaddrinfo(first);
  return opened;
}

static struct link connect_link(void) {
  char node[NAME];
  const char* problem = "no answer";
  first_node(variable("SLURM_STEP_NODELIST"), node, sizeof node);
  for (double end_s = monotonic_s() + open_s; monotonic_s() < end_s;) {
    struct link link;
    for (unsigned i = 0; i < CANDIDATES; i++)
      if (try_port(node, candidate_port(i), &link, &problem)) return link;
    nanosleep(&(struct timespec){.tv_nsec = (long)(pause_s * 1e9)}, NULL);
  }
  complain("cannot reach the server's node %s within %g s: %s; its name must resolve here", node,
           open_s, problem);
  exit(EXIT_LOST);
}

struct link open_link(bool server_side) {
  signal(SIGPIPE, SIG_IGN);  // a lost connection is an error, not the end of this program
  return server_side ? accept_link() : connect_link();
}

// Writes an address without its port. Returns false for families other than IPv4 and IPv6.
static bool numeric(const struct sockaddr* address, char* text, size_t size) {
  socklen_t length = address->sa_family == AF_INET    ? sizeof(struct sockaddr_in)
                     : address->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
                                                      : 0;
  if (!length || getnameinfo(address, length, text, (socklen_t)size, NULL, 0, NI_NUMERICHOST) != 0)
    return false;
  static const char mapped[] = "::ffff:";  // IPv4 on a socket of IPv6
  if (strncmp(text, mapped, sizeof mapped - 1) == 0 && strchr(text, '.'))
    memmove(text, text + sizeof mapped - 1, strlen(text) - sizeof mapped + 2);
  return true;
}

// The first IPv4 address of the interface, else its first IPv6 address that is not link-local.
static bool interface_address(const char* name, char* text, size_t size) {
  struct ifaddrs* all = NULL;
  bool found = false;
  if (getifaddrs(&all) != 0) return false;
  for (int pass = 0; pass < 2; pass++) {
    for (const struct ifaddrs* one = all; one && !found; one = one->ifa_next) {
      if (!one->ifa_addr || strcmp(one->ifa_name, name) != 0) continue;
      if (one->ifa_addr->sa_family != (pass ? AF_INET6 : AF_INET)) continue;
      const struct sockaddr_in6* six = (const struct sockaddr_in6*)(const void*)one->ifa_addr;
      if (pass && IN6_IS_ADDR_LINKLOCAL(&six->sin6_addr)) continue;
      found = numeric(one->ifa_addr, text, size);
    }
  }
  freeifaddrs(all);
  return found;
}

struct search {
  char* text;
  size_t size;
  bool found;
};

static void try_interface(const char* name, void* context) {
  struct search* search = context;
  if (!search->found) search->found = interface_address(name, search->text, search->size);
}

// The address of an interface of an adapter: the one to which its first GID belongs, else any
// network device of its bus device.
static bool adapter_address(const char* name, char* text, size_t size) {
  char folder[FOLDER], interface[IF_NAMESIZE];
  struct search search = {.text = text, .size = size};
  size_t length = strcspn(name, ":");
  if (name[length]) {
    snprintf(folder, sizeof folder, "%s/%.*s/ports/%.10s/gid_attrs/ndevs", RDMA_FOLDER, (int)length,
             name, name + length + 1);
    read_in(folder, "0", interface, sizeof interface);
    if (*interface) try_interface(interface, &search);
  }
  static const char* const classes[] = {RDMA_FOLDER, CXI_FOLDER};
  for (size_t i = 0; i < 2 && !search.found; i++) {
    snprintf(folder, sizeof folder, "%s/%.*s/device/net", classes[i], (int)length, name);
    each_entry(folder, try_interface, &search);
  }
  return search.found;
}

static bool is_adapter(const char* name) {
  char path[FOLDER];
  snprintf(path, sizeof path, "%s/%.200s", CXI_FOLDER, name);
  return strchr(name, ':') || access(path, F_OK) == 0;
}

bool address_of(const struct link* link, const char* name, char* text, size_t size) {
  if (strcmp(name, "any") != 0) {
    if (interface_address(name, text, size) || adapter_address(name, text, size)) return true;
    if (!is_adapter(name)) return false;
  }
  struct sockaddr_storage own = {0};
  socklen_t length = sizeof own;
  return getsockname(link->fd, (struct sockaddr*)&own, &length) == 0 &&
         numeric((struct sockaddr*)&own, text, size);
}
