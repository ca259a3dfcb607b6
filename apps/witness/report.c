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

static void field(struct sink* out, const char* name, uint64_t number) {
  sink_string(out, name);
  sink_number(out, number);
}

static void number_or_null(struct sink* out, const char* name, int64_t number) {
  sink_string(out, name);
  if (number < 0)
    sink_string(out, "null");
  else
    sink_number(out, (uint64_t)number);
}

static void string_field(struct sink* out, const char* name, const char* string) {
  sink_string(out, name);
  sink_json_string(out, string);
}

static void list_field(struct sink* out, const char* name, const struct name_list* list) {
  sink_string(out, name);
  for (size_t i = 0; i < list->count; i++) {
    sink_string(out, i ? "," : "");
    sink_json_string(out, list->names[i]);
  }
  sink_char(out, ']');
}

static void totals_fields(struct sink* out, const struct socket_totals* totals) {
  field(out, ",\"tx_bytes\":", totals->tx_bytes);
  field(out, ",\"rx_bytes\":", totals->rx_bytes);
  field(out, ",\"tx_segs\":", totals->tx_segs);
  field(out, ",\"rx_segs\":", totals->rx_segs);
  sink_char(out, '}');
}

static void intervals_field(struct sink* out, const char* name,
                            const struct interval* (*next)(size_t* cursor)) {
  size_t cursor = 0;
  sink_string(out, name);
  for (const struct interval* one; (one = next(&cursor));) {
    string_field(out, cursor > 1 ? ",{\"label\":" : "{\"label\":", one->label);
    field(out, ",\"same_node\":{\"bytes\":", one->carried.same_node.bytes);
    field(out, ",\"segments\":", one->carried.same_node.segs);
    field(out, "},\"other_node\":{\"bytes\":", one->carried.other_node.bytes);
    field(out, ",\"segments\":", one->carried.other_node.segs);
    sink_string(out, "}}");
  }
  sink_char(out, ']');
}

static void write_json(struct sink* out, const char* host, const char* ended) {
  static struct name_list names;
  static char exe[PATH_MAX];
  ssize_t length = readlink("/proc/self/exe", exe, sizeof exe - 1);
  exe[length > 0 ? length : 0] = '\0';

  string_field(out, "{\"schema\":1,\"host\":", host);
  number_or_null(out, ",\"rank\":", witness_process.rank);
  number_or_null(out, ",\"world_size\":", witness_process.world_size);
  field(out, ",\"pid\":", (uint64_t)witness_process.pid);
  sink_string(out, witness_process.forked ? ",\"forked\":true" : ",\"forked\":false");
  string_field(out, ",\"exe\":", exe);
  string_field(out, ",\"ended\":", ended);
  cpus_fields(out);

  struct socket_entry entry;
  size_t cursor = 0;
  sink_string(out, ",\"sockets\":[");
  for (bool first = true; sockets_next(&cursor, &entry); first = false) {
    field(out, first ? "{\"inode\":" : ",{\"inode\":", entry.inode);
    string_field(out, ",\"local\":", entry.local);
    string_field(out, ",\"peer\":", entry.peer);
    totals_fields(out, &entry.totals);
  }
  struct socket_totals dropped;
  field(out, "],\"dropped\":{\"sockets\":", sockets_dropped(&dropped));
  totals_fields(out, &dropped);
  intervals_field(out, ",\"intervals\":[", marks_next);
  field(out, ",\"dropped_marks\":", marks_dropped());
  intervals_field(out, ",\"lines\":[", lines_next);
  field(out, ",\"udp_sockets\":", sockets_udp());
  field(out, ",\"unix_sockets\":", sockets_unix());
  traces_devices(&names);
  list_field(out, ",\"devices\":[", &names);
  struct shared_maps maps;
  traces_maps(&names, &maps);
  list_field(out, ",\"libraries\":[", &names);
  field(out, ",\"shared_maps\":{\"count\":", maps.count);
  field(out, ",\"bytes\":", maps.bytes);
  sink_string(out, "}}\n");
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
  if (with_pid) field(&out, ".", (uint64_t)witness_process.pid);
  if (again) field(&out, ".", again);
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
  field(&out, ".", (uint64_t)witness_process.pid);
  field(&out, ".", (uint64_t)now.tv_sec);
  field(&out, ".", (uint64_t)now.tv_nsec);
  sink_string(&out, ".tmp");
  return name_buffer[1];
}

// Never over an existing file. A fork child leaves the first name to the program that it was forked
// from.
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
  struct sink out = {.text = buffer, .size = sizeof buffer, .fd = fd};
  write_json(&out, host, ended);
  sink_flush(&out);
  if (syscall(SYS_close, fd) != 0) out.failed = true;
  if (out.failed)
    unlink(temporary);
  else
    publish(temporary, host);
}

void witness_report(const char* ended) {
  if (!witness_process.active || witness_process.pid != (int)getpid())
    return;  // a vfork child must not speak for its parent
  int saved = errno, expected = NOT_REPORTED;
  int self = (int)syscall(SYS_gettid);
  if (atomic_compare_exchange_strong(&progress, &expected, REPORTING)) {
    atomic_store(&reporter, self);
    witness_sample_range(0, ~0U, SAMPLE_END);
    if (!witness_process.forked || sockets_any_tcp()) write_file(ended);
    atomic_store(&progress, REPORTED);
  } else if (atomic_load(&reporter) != self) {
    // Another thread is ending the process, too: give it up to a second to finish. (A signal
    // handler that interrupted the report in its own thread must not wait for itself.)
    struct timespec pause = {.tv_nsec = 1000000};
    for (int i = 0; i < 1000 && atomic_load(&progress) != REPORTED; i++)
      syscall(SYS_nanosleep, &pause, NULL);
  }
  errno = saved;
}
