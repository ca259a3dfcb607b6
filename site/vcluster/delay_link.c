// SPDX-License-Identifier: Apache-2.0
//
// delay_link MICROSECONDS OUTER NAMESPACE INNER: links the TAP device OUTER in this network
// namespace with the TAP device INNER in another one (a file under /run/netns) and delays every
// frame. Replaces netem on kernels without it. Runs until it is killed; the kernel then removes
// both devices.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum { FRAME = 2048, FRAMES = 4096, EXIT_USE = 2 };

struct frame {
  uint64_t due_ns;
  ssize_t size;
  char bytes[FRAME];
};

// Queue of the frames in transit to one end. A full queue drops frames, as a switch does.
struct lane {
  unsigned first, next;
  struct frame frames[FRAMES];
};

static struct lane lanes[2];

static void check(bool good, const char* what) {
  if (good) return;
  fprintf(stderr, "delay_link: %s: %s\n", what, strerror(errno));
  exit(EXIT_USE);
}

static uint64_t now_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static int tap(const char* name) {
  struct ifreq request = {.ifr_flags = IFF_TAP | IFF_NO_PI};
  snprintf(request.ifr_name, sizeof request.ifr_name, "%s", name);
  int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
  check(fd >= 0 && ioctl(fd, TUNSETIFF, &request) == 0, name);
  return fd;
}

// Delivers the due frames to `end`. Returns the time at which the next frame is due, 0 if the queue
// is empty.
static uint64_t deliver(struct lane* lane, int end) {
  for (; lane->first != lane->next; lane->first++) {
    struct frame* frame = &lane->frames[lane->first % FRAMES];
    if (frame->due_ns > now_ns()) return frame->due_ns;
    if (write(end, frame->bytes, (size_t)frame->size) < 0 && errno == EIO)
      continue;  // the device is down
  }
  return 0;
}

static void collect(struct lane* lane, int end, uint64_t delay_ns) {
  while (lane->next - lane->first < FRAMES) {
    struct frame* frame = &lane->frames[lane->next % FRAMES];
    frame->size = read(end, frame->bytes, sizeof frame->bytes);
    if (frame->size <= 0) return;
    frame->due_ns = now_ns() + delay_ns;
    lane->next++;
  }
}

int main(int argc, char** argv) {
  char* rest = NULL;
  uint64_t delay_ns = argc == 5 ? strtoull(argv[1], &rest, 10) * 1000 : 0;
  if (argc != 5 || *rest) {
    fputs("usage: delay_link MICROSECONDS OUTER NAMESPACE INNER\n", stderr);
    return EXIT_USE;
  }
  int ends[2] = {tap(argv[2])};
  int namespace = open(argv[3], O_RDONLY | O_CLOEXEC);
  check(namespace >= 0 && setns(namespace, CLONE_NEWNET) == 0, argv[3]);
  ends[1] = tap(argv[4]);
  prctl(PR_SET_TIMERSLACK, 1);
  for (;;) {
    uint64_t a = deliver(&lanes[0], ends[0]), b = deliver(&lanes[1], ends[1]);
    uint64_t due = a && (!b || a < b) ? a : b, now = now_ns();
    uint64_t wait = due > now ? due - now : 0;
    struct timespec timeout = {(time_t)(wait / 1000000000u), (long)(wait % 1000000000u)};
    struct pollfd polled[2] = {{.fd = ends[0], .events = POLLIN},
                               {.fd = ends[1], .events = POLLIN}};
    ppoll(polled, 2, due ? &timeout : NULL, NULL);
    collect(&lanes[1], ends[0], delay_ns);
    collect(&lanes[0], ends[1], delay_ns);
  }
}
