// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/profiler.h"

void text_add(struct text* text, const char* format, ...) {
  va_list arguments, again;
  va_start(arguments, format);
  va_copy(again, arguments);
  int length = vsnprintf(NULL, 0, format, arguments);
  va_end(arguments);
  size_t needed = text->used + (size_t)(length > 0 ? length : 0) + 1;
  if (needed > text->capacity) {
    text->capacity = 2 * needed;
    char* larger = realloc(text->bytes, text->capacity);
    if (!larger) abort();
    text->bytes = larger;
  }
  vsnprintf(text->bytes + text->used, text->capacity - text->used, format, again);
  va_end(again);
  text->used = needed - 1;
}

static const char* const peer_names[] = {"none", "self", "same node", "other node", "any", "null"};

static void add_key(struct text* text, const char* key, const char* value) {
  text_add(text, " <%s> = <%s>", key, value);
}

void text_of_name(struct text* text, const struct record* record, bool all_keys) {
  enum function function = record_function(record);
  text_add(text, "%s%s   [", function_names[function], function == FUNCTION_SYNC ? "" : "()");
  if (record_binned(record))
    text_add(text, " <message size> = <%" PRIu64 "-%" PRIu64 ">", record->bytes,
             2 * record->bytes - 1);
  else if (record_sized(record))
    text_add(text, " <message size> = <%" PRIu64 ">", record->bytes);
  if (all_keys) {
    if (record_operation(record) != FUNCTION_NONE)
      add_key(text, "operation", function_names[record_operation(record)]);
    add_key(text, "peer", peer_names[record_peer(record)]);
    if (record_comm_size(record))
      text_add(text, " <communicator size> = <%" PRIu32 ">", record_comm_size(record));
    if (record_root(record)) add_key(text, "role", "root");
    if (record_in_region(record)) add_key(text, "region", "1");
  }
  text_add(text, " ]");
}

static int compare(const void* left, const void* right) {
  const struct record *a = *(const struct record* const*)left,
                      *b = *(const struct record* const*)right;
  if (record_function(a) != record_function(b))
    return record_function(a) < record_function(b) ? -1 : 1;
  if (record_sized(a) != record_sized(b)) return record_sized(a) < record_sized(b) ? -1 : 1;
  if (record_binned(a) != record_binned(b)) return record_binned(a) < record_binned(b) ? -1 : 1;
  if (a->bytes != b->bytes) return a->bytes < b->bytes ? -1 : 1;
  return a->rest < b->rest ? -1 : a->rest > b->rest;
}

static bool same_size(const struct record* a, const struct record* b) {
  return record_function(a) == record_function(b) && record_sized(a) == record_sized(b) &&
         record_binned(a) == record_binned(b) && a->bytes == b->bytes;
}

struct writer {
  struct text *text, rows;
  double scale;  // microseconds per tick
  unsigned count;
};

// One line of TAU's format: name, calls, calls of others, exclusive and inclusive time.
static void add_times(struct writer* writer, const char* name, uint64_t calls, uint64_t subroutines,
                      uint64_t exclusive, uint64_t inclusive, const char* group) {
  text_add(&writer->rows, "\"%s\" %" PRIu64 " %" PRIu64 " %.16G %.16G 0 GROUP=\"%s\" \n", name,
           calls, subroutines, writer->scale * (double)exclusive, writer->scale * (double)inclusive,
           group);
  writer->count++;
}

static void add_row(struct writer* writer, const struct record* record, bool all_keys,
                    uint64_t calls, uint64_t ticks) {
  struct text name = {0};
  text_of_name(&name, record, all_keys);
  text_add(&name, "  ");
  add_times(writer, name.bytes, calls, 0, ticks, ticks, "TAU_PARAM | MPI");
  free(name.bytes);
}

static const struct record** sorted(const struct table* table) {
  const struct record** records = malloc((table->used + 1) * sizeof(struct record*));
  size_t count = 0;
  if (!records) abort();
  for (size_t i = 0; i < table->capacity; i++)
    if (table->records[i].rest) records[count++] = &table->records[i];
  qsort(records, count, sizeof(struct record*), compare);
  return records;
}

static void add_sizes(struct writer* writer, const struct table* table) {
  const struct record** records = sorted(table);
  for (size_t i = 0, next; i < table->used; i = next) {
    uint64_t calls = 0, ticks = 0;
    for (next = i; next < table->used && same_size(records[i], records[next]); next++) {
      calls += records[next]->calls;
      ticks += records[next]->ticks;
    }
    if (record_sized(records[i])) add_row(writer, records[i], false, calls, ticks);
  }
  for (size_t i = 0; i < table->used; i++)
    add_row(writer, records[i], true, records[i]->calls, records[i]->ticks);
  free(records);
}

static void add_functions(struct writer* writer, const struct table* table) {
  char name[128];
  for (int function = 1; function < FUNCTION_COUNT; function++) {
    const struct total* total = table->totals[function];
    uint64_t calls = total[0].calls + total[1].calls, ticks = total[0].ticks + total[1].ticks;
    if (!calls) continue;
    snprintf(name, sizeof name, "%s%s", function_names[function],
             function == FUNCTION_SYNC ? "  " : "()  ");
    add_times(writer, name, calls, 0, ticks, ticks, "MPI");
  }
}

static struct total sum_of(const struct table* table, int in_region) {
  struct total sum = {0};
  for (int function = 1; function < FUNCTION_COUNT; function++) {
    sum.calls += table->totals[function][in_region].calls;
    sum.ticks += table->totals[function][in_region].ticks;
  }
  return sum;
}

static uint64_t without(uint64_t whole, uint64_t part) {
  return whole > part ? whole - part : 0;
}

static void add_application(struct writer* writer, const struct thread* thread) {
  struct total outside = sum_of(&thread->table, 0), inside = sum_of(&thread->table, 1);
  uint64_t whole = without(profile.end, thread->begin);
  if (thread->number > 0 || !profile.region_marked) {
    add_times(writer, ".TAU application", 1, outside.calls + inside.calls,
              without(whole, outside.ticks + inside.ticks), whole, "TAU_UTILITY");
    return;
  }
  add_times(writer, ".TAU application", 1, outside.calls + profile.region_calls,
            without(whole, outside.ticks + profile.region_ticks), whole, "TAU_UTILITY");
  add_times(writer, "measured region", profile.region_calls, inside.calls,
            without(profile.region_ticks, inside.ticks), profile.region_ticks, "TAU_USER");
}

void text_of_thread(struct text* text, const struct thread* thread, double microseconds_per_tick) {
  struct writer writer = {.text = text, .scale = microseconds_per_tick};
  add_application(&writer, thread);
  add_functions(&writer, &thread->table);
  add_sizes(&writer, &thread->table);
  text_add(text, "%u templated_functions_MULTI_TIME\n", writer.count);
  text_add(text, "# Name Calls Subrs Excl Incl ProfileCalls # ");
  text_of_metadata(text);
  text_add(text, "\n%s", writer.rows.bytes);
  text_of_events(text, thread);
  free(writer.rows.bytes);
}
