// SPDX-License-Identifier: Apache-2.0
//
// The report as lines of words, which fabricbench-node adds up for all ranks of its node
// (apps/launch/sums.c). The last word of a line is a text that may contain blanks.
#include <string.h>

#include "witness.h"

static void text(struct sink* out, const char* string) {
  sink_char(out, ' ');
  if (!*string) sink_char(out, '-');
  for (; *string; string++) sink_char(out, (unsigned char)*string < ' ' ? '?' : *string);
}

static void number(struct sink* out, uint64_t value) {
  sink_char(out, ' ');
  sink_number(out, value);
}

static void named(struct sink* out, const char* kind, const char* name) {
  sink_string(out, kind);
  text(out, name);
  sink_char(out, '\n');
}

static void count(struct sink* out, const char* kind, uint64_t value) {
  sink_string(out, kind);
  number(out, value);
  sink_char(out, '\n');
}

static void carried(struct sink* out, const struct carried* amount) {
  number(out, amount->bytes);
  number(out, amount->segs);
}

// "socket INODE TX_BYTES RX_BYTES TX_SEGMENTS RX_SEGMENTS LOCAL PEER"
static void sockets(struct sink* out) {
  struct socket_entry entry;
  size_t cursor = 0;
  while (sockets_next(&cursor, &entry)) {
    sink_string(out, "socket");
    number(out, entry.inode);
    number(out, entry.totals.tx_bytes);
    number(out, entry.totals.rx_bytes);
    number(out, entry.totals.tx_segs);
    number(out, entry.totals.rx_segs);
    text(out, entry.local);
    text(out, entry.peer);
    sink_char(out, '\n');
  }
}

// "mark SAME_BYTES SAME_SEGMENTS OTHER_BYTES OTHER_SEGMENTS LABEL", or "line …"
static void intervals(struct sink* out, const char* kind,
                      const struct interval* (*next)(size_t* cursor)) {
  size_t cursor = 0;
  for (const struct interval* one; (one = next(&cursor));) {
    sink_string(out, kind);
    carried(out, &one->carried.same_node);
    carried(out, &one->carried.other_node);
    text(out, one->label);
    sink_char(out, '\n');
  }
}

// "process RANK FORKED CPU_MICROSECONDS CPUS"; RANK is "-" if it is unknown.
static void process(struct sink* out) {
  sink_string(out, "process");
  if (witness_process.rank < 0)
    text(out, "");
  else
    number(out, (uint64_t)witness_process.rank);
  number(out, witness_process.forked);
  number(out, cpus_microseconds());
  sink_char(out, ' ');
  cpus_text(out);
  sink_char(out, '\n');
}

void plain_report(struct sink* out) {
  static struct name_list names;
  struct socket_totals dropped;
  struct shared_maps maps;
  process(out);
  sockets(out);
  intervals(out, "mark", marks_next);
  if (witness_process.rank == 0) intervals(out, "line", lines_next);
  count(out, "dropped_sockets", sockets_dropped(&dropped));
  count(out, "dropped_marks", marks_dropped());
  count(out, "udp_sockets", sockets_udp());
  count(out, "unix_sockets", sockets_unix());
  traces_devices(&names);
  for (size_t i = 0; i < names.count; i++) named(out, "device", names.names[i]);
  traces_maps(&names, &maps);
  for (size_t i = 0; i < names.count; i++) named(out, "library", names.names[i]);
  count(out, "shared_maps", maps.count);
}
