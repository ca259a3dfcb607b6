// SPDX-License-Identifier: Apache-2.0
//
// User events and metadata of a profile, named as TAU names them.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "profiler/profiler.h"

static const char sent[] = "sent to all nodes", received[] = "received from all nodes",
                  in_wait[] = "received in wait";

struct named_event {
  const char* name;
  struct event event;
};

struct events {
  struct named_event list[FUNCTION_COUNT];
  size_t count;
};

static struct event* event_named(struct events* events, const char* name) {
  for (size_t i = 0; i < events->count; i++)
    if (strcmp(events->list[i].name, name) == 0) return &events->list[i].event;
  struct named_event* added = &events->list[events->count++];
  *added = (struct named_event){.name = name};
  return &added->event;
}

static void merge(struct event* into, const struct event* from) {
  if (!from->count) return;
  if (!into->count || from->min < into->min) into->min = from->min;
  if (from->max > into->max) into->max = from->max;
  into->count += from->count;
  into->sum += from->sum;
  into->squares += from->squares;
}

static void add_record(struct events* events, const char* name, const struct record* record) {
  struct event* event = event_named(events, name);
  if (record_binned(record))
    merge(event, &record->bin);
  else
    event_add(event, record->bytes, record->calls);
}

static void collect(struct events* events, const struct record* record) {
  enum function function = record_function(record), operation = record_operation(record);
  if (!record_sized(record) || record_peer(record) == PEER_NULL) return;
  if (function_kinds[function] == KIND_ACTIVATE) {
    if (function_kinds[operation] == KIND_SEND) add_record(events, sent, record);
  } else if (function_kinds[function] == KIND_COMPLETE) {
    if (function_kinds[operation] != KIND_RECEIVE) return;
    add_record(events, received, record);
    add_record(events, in_wait, record);
  } else if (function_events[function]) {
    if (!function_events_at_root[function] || record_root(record))
      add_record(events, function_events[function], record);
  }
}

static void add_event(struct text* text, const struct event* event) {
  text_add(text, "\" %" PRIu64 " %" PRIu64 " %" PRIu64 " %.16G %.16G\n", event->count, event->max,
           event->min, (double)event->sum / (double)event->count, event->squares);
}

// Writes an event of a row: its title, the row's name and the values. Returns 1.
static size_t add_value(struct text* text, const char* title, const struct record* record,
                        const struct value* value) {
  text_add(text, "\"%s : ", title);
  text_of_name(text, record, true);
  text_add(text, "\" %" PRIu64 " %.16G %.16G %.16G %.16G\n", value->count, value->max, value->min,
           value->sum / (double)value->count, value->squares);
  return 1;
}

// Writes the events of time stamps of a row. Returns their number.
static size_t add_matches(struct text* text, const struct record* record,
                          const struct match* match) {
  size_t number = 0;
  char title[32];
  if (record->shares.count && record->shares.min < 1)
    number += add_value(text, "Calls", record, &record->shares);
  if (!match) return number;
  number += add_value(text, "Late partner", record, &match->late);
  for (int bin = 0; bin < HEAD_STARTS; bin++) {
    if (!match->heads[bin].count) continue;
    snprintf(title, sizeof title, "Head start %d", bin);
    number += add_value(text, title, record, &match->heads[bin]);
  }
  return number;
}

// Writes the events of a row. Returns their number.
static size_t add_row(struct text* text, const struct thread* thread, const struct record* record) {
  size_t number = 0;
  if (record_binned(record)) {
    text_add(text, "\"Message size : ");
    text_of_name(text, record, true);
    add_event(text, &record->bin);
    number++;
  }
  struct match* match = thread->matches ? thread->matches[record->row] : NULL;
  return number + add_matches(text, record, match);
}

void text_of_events(struct text* text, const struct thread* thread) {
  const struct table* table = &thread->table;
  struct events events = {.count = 0};
  struct text rows = {0};
  size_t number = 0;
  for (size_t i = 0; i < table->capacity; i++) {
    if (!table->records[i].rest) continue;
    collect(&events, &table->records[i]);
    number += add_row(&rows, thread, &table->records[i]);
  }
  if (table->received.count) merge(event_named(&events, received), &table->received);
  number += events.count;
  text_add(text, "0 aggregates\n");
  if (number > 0)
    text_add(text, "%zu userevents\n# eventname numevents max min mean sumsqr\n", number);
  for (size_t i = 0; i < events.count; i++) {
    text_add(text, "\"Message size %s", events.list[i].name);
    add_event(text, &events.list[i].event);
  }
  if (rows.used) text_add(text, "%s", rows.bytes);
  free(rows.bytes);
}

static void add_escaped(struct text* text, const char* value) {
  for (; *value; value++) switch (*value) {
      case '&':
        text_add(text, "&amp;");
        break;
      case '<':
        text_add(text, "&lt;");
        break;
      case '>':
        text_add(text, "&gt;");
        break;
      default:
        text_add(text, "%c", (unsigned char)*value < ' ' ? ' ' : *value);
    }
}

static void add_attribute(struct text* text, const char* name, const char* value) {
  text_add(text, "<attribute><name>%s</name><value>", name);
  add_escaped(text, value);
  text_add(text, "</value></attribute>");
}

static void add_number(struct text* text, const char* name, double number) {
  char value[64];
  snprintf(value, sizeof value, "%.10G", number);
  add_attribute(text, name, value);
}

static const char* level_name(void) {
  switch (profile.thread_level) {
    case MPI_THREAD_SINGLE:
      return "MPI_THREAD_SINGLE";
    case MPI_THREAD_FUNNELED:
      return "MPI_THREAD_FUNNELED";
    case MPI_THREAD_SERIALIZED:
      return "MPI_THREAD_SERIALIZED";
    default:
      return "MPI_THREAD_MULTIPLE";
  }
}

void text_of_metadata(struct text* text) {
  static char unknown[8192], exe[4096];
  ssize_t length = readlink("/proc/self/exe", exe, sizeof exe - 1);
  exe[length > 0 ? length : 0] = '\0';
  symbols_unknown(unknown, sizeof unknown);
  text_add(text, "<metadata>");
  add_attribute(text, "Metric Name", "TIME");
  add_attribute(text, "Profiler", "fabricbench");
  add_number(text, "Profiler Schema", 1);
  add_attribute(text, "Executable", exe);
  add_attribute(text, "Hostname", profile.host);
  add_number(text, "pid", (double)getpid());
  add_number(text, "MPI Rank", profile.rank);
  add_number(text, "MPI Size", profile.size);
  add_number(text, "MPI Ranks of Node", profile.node_ranks);
  add_attribute(text, "MPI Thread Level", level_name());
  add_attribute(text, "MPI_Finalize", "reached");
  add_attribute(text, "Measured Region", profile.region_marked ? "MPI_Pcontrol" : "program");
  add_attribute(text, "Collective Barrier", profile.sync ? "yes" : "no");
  add_attribute(text, "Clock", clock_uses_tsc ? "TSC" : "clock_gettime");
  add_number(text, "Profiler Nanoseconds per Call", profile.overhead_ns);
  add_number(text, "Profiler Seconds at Start",
             1e-6 * clock_microseconds() * (double)profile.start_ticks);
  add_attribute(text, "Time Stamps", stamps_state());
  add_number(text, "Clock Error Microseconds", 1e-3 * (double)clocks_error());
  add_attribute(text, "Unprofiled MPI Functions", unknown);
  text_add(text, "</metadata>");
}
