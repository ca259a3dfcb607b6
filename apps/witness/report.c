// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "witness.h"

enum { NOT_REPORTED, REPORTING, REPORTED };
static atomic_int progress;
static atomic_int reporter;  // thread id
static char name_buffer[2][PATH_MAX + 512];
static char buffer[16384];

void witness_report_forget(void) {
  progress = NOT_REPORTED;
  reporter = 0;
}

static void rank_number(struct json* out, const char* key, int64_t number) {
  if (number < 0)
    json_null(out, key);
  else
    json_unsigned(out, key, (uint64_t)number);
}

static void list_field(struct json* out, const char* key, const struct name_list* list) {
  json_begin_array(out, key);
  for (size_t i = 0; i < list->count; i++) json_string(out, NULL, list->names[i]);
  json_end_array(out);
}

static void totals_fields(struct json* out, const struct socket_totals* totals) {
  json_unsigned(out, "tx_bytes", totals->tx_bytes);
  json_unsigned(out, "rx_bytes", totals->rx_bytes);
  json_unsigned(out, "tx_segs", totals->tx_segs);
  json_unsigned(out, "rx_segs", totals->rx_segs);
}

static void sockets_fields(struct json* out) {
  struct socket_entry entry;
  size_t cursor = 0;
  json_begin_array(out, "sockets");
  while (sockets_next(&cursor, &entry)) {
    json_begin_object(out, NULL);
    json_unsigned(out, "inode", entry.inode);
    json_string(out, "local", entry.local);
    json_string(out, "peer", entry.peer);
    totals_fields(out, &entry.totals);
    json_end_object(out);
  }
  json_end_array(out);
  struct socket_totals dropped;
  json_begin_object(out, "dropped");
  json_unsigned(out, "sockets", sockets_dropped(&dropped));
  totals_fields(out, &dropped);
  json_end_object(out);
}

static void carried_field(struct json* out, const char* key, const struct carried* carried) {
  json_begin_object(out, key);
  json_unsigned(out, "bytes", carried->bytes);
  json_unsigned(out, "segments", carried->segs);
  json_end_object(out);
}

static void intervals_field(struct json* out, const char* key,
                            const struct interval* (*next)(size_t* cursor)) {
  size_t cursor = 0;
  json_begin_array(out, key);
  for (const struct interval* one; (one = next(&cursor));) {
    json_begin_object(out, NULL);
    json_string(out, "label", one->label);
    carried_field(out, "same_node", &one->carried.same_node);
    carried_field(out, "other_node", &one->carried.other_node);
    json_end_object(out);
  }
  json_end_array(out);
}

static void process_fields(struct json* out, const char* host, const char* ended) {
  static char exe[PATH_MAX];
  ssize_t length = readlink("/proc/self/exe", exe, sizeof exe - 1);
  exe[length > 0 ? length : 0] = '\0';
  json_unsigned(out, "schema", 1);
  json_string(out, "host", host);
  rank_number(out, "rank", witness_process.rank);
  rank_number(out, "world_size", witness_process.world_size);
  json_unsigned(out, "pid", (uint64_t)witness_process.pid);
  json_bool(out, "forked", witness_process.forked);
  json_string(out, "exe", exe);
  json_string(out, "ended", ended);
  cpus_fields(out);
}

static void write_json(struct json* out, const char* host, const char* ended) {
  static struct name_list names;
  json_begin_object(out, NULL);
  process_fields(out, host, ended);
  sockets_fields(out);
  intervals_field(out, "intervals", marks_next);
  json_unsigned(out, "dropped_marks", marks_dropped());
  intervals_field(out, "lines", lines_next);
  json_unsigned(out, "udp_sockets", sockets_udp());
  json_unsigned(out, "unix_sockets", sockets_unix());
  traces_devices(&names);
  list_field(out, "devices", &names);
  struct shared_maps maps;
  traces_maps(&names, &maps);
  list_field(out, "libraries", &names);
  json_begin_object(out, "shared_maps");
  json_unsigned(out, "count", maps.count);
  json_unsigned(out, "bytes", maps.bytes);
  json_end_object(out);
  json_end_object(out);
  sink_char(&out->sink, '\n');
}

// Replaces every character but letters, digits, '.', '_' and '-' by '_'.
static void sink_file_part(struct sink* out, const char* string) {
  static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
  for (; *string; string++) sink_char(out, strchr(allowed, *string) ? *string : '_');
}

static void sink_dotted(struct sink* out, uint64_t number) {
  sink_char(out, '.');
  sink_number(out, number);
}

// DIR/witness.HOST.RANK[.PID[.AGAIN]].json
static const char* final_name(const char* host, bool with_pid, unsigned again) {
  struct sink out = sink_in(name_buffer[0], sizeof name_buffer[0]);
  sink_string(&out, witness_process.directory);
  sink_string(&out, "/witness.");
  sink_file_part(&out, host);
  sink_char(&out, '.');
  if (witness_process.rank < 0)
    sink_char(&out, 'x');
  else
    sink_number(&out, (uint64_t)witness_process.rank);
  if (with_pid) sink_dotted(&out, (uint64_t)witness_process.pid);
  if (again) sink_dotted(&out, again);
  sink_string(&out, ".json");
  return name_buffer[0];
}

static const char* temporary_name(const char* host) {
  struct timespec now = {0};
  clock_gettime(CLOCK_MONOTONIC, &now);  // two process namespaces of one host may have the same pid
  struct sink out = sink_in(name_buffer[1], sizeof name_buffer[1]);
  sink_string(&out, witness_process.directory);
  sink_string(&out, "/.witness.");
  sink_file_part(&out, host);
  sink_dotted(&out, (uint64_t)witness_process.pid);
  sink_dotted(&out, (uint64_t)now.tv_sec);
  sink_dotted(&out, (uint64_t)now.tv_nsec);
  sink_string(&out, ".tmp");
  return name_buffer[1];
}

// Gives the file its name and never replaces another one. A fork child does not take the first
// name, which belongs to its parent.
static void publish(const char* temporary, const char* host) {
  for (unsigned attempt = witness_process.forked ? 1 : 0; attempt < 100; attempt++) {
    const char* name = final_name(host, attempt > 0, attempt > 1 ? attempt - 1 : 0);
    if (link(temporary, name) == 0) break;
    if (errno == EEXIST) continue;
    // A file system without hard links.
    if (syscall(SYS_renameat2, AT_FDCWD, temporary, AT_FDCWD, name, RENAME_NOREPLACE) == 0) return;
    if (errno != EEXIST) break;
  }
  unlink(temporary);
}

static void write_file(const char* ended) {
  struct utsname machine;
  const char* host = uname(&machine) == 0 && machine.nodename[0] ? machine.nodename : "unknown";
  const char* temporary = temporary_name(host);
  int fd = (int)syscall(SYS_openat, AT_FDCWD, temporary,
                        O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
  if (fd < 0) return;
  struct json out = {.sink = sink_to(fd, buffer, sizeof buffer)};
  if (witness_process.plain)
    plain_report(&out.sink);
  else
    write_json(&out, host, ended);
  sink_flush(&out.sink);
  bool closed = syscall(SYS_close, fd) == 0;
  if (closed && !out.sink.error)
    publish(temporary, host);
  else
    unlink(temporary);
}

void witness_report(const char* ended) {
  if (!witness_process.active || witness_process.pid != (int)getpid())
    return;  // a vfork child must not report for its parent
  int saved = errno, expected = NOT_REPORTED;
  int self = (int)syscall(SYS_gettid);
  if (atomic_compare_exchange_strong(&progress, &expected, REPORTING)) {
    atomic_store(&reporter, self);
    witness_sample_range(0, ~0U, SAMPLE_END);
    if (!witness_process.forked || sockets_any_tcp()) write_file(ended);
    atomic_store(&progress, REPORTED);
  } else if (atomic_load(&reporter) != self) {
    // Another thread ends the process, too: wait for its report, at most a second. A signal handler
    // that interrupted the report in its own thread must not wait.
    struct timespec pause = {.tv_nsec = 1000000};
    for (int i = 0; i < 1000 && atomic_load(&progress) != REPORTED; i++)
      syscall(SYS_nanosleep, &pause, NULL);
  }
  errno = saved;
}
