// SPDX-License-Identifier: Apache-2.0
//
// An interval is the growth of the sockets' counters between two marks of the program, or between
// two flushes of stdout. Sockets that were closed in between count too.
#include <stdatomic.h>
#include <string.h>

#include "witness.h"

enum { INTERVAL_LIMIT = 2048, LINE_LIMIT = 1024 };

static struct interval intervals[INTERVAL_LIMIT];
static size_t interval_count;
static struct interval* running;
static struct both_nodes at_begin;
static uint64_t dropped_marks;

static struct interval lines[LINE_LIMIT];
static size_t line_count;
static struct both_nodes at_flush;
static char last_line[LABEL_LENGTH];  // the last line that is not empty, not terminated
static size_t last_length;
static bool line_ended;
static atomic_flag lines_busy = ATOMIC_FLAG_INIT;

static void add(struct carried* total, const struct carried* from, const struct carried* to) {
  total->bytes += to->bytes - from->bytes;
  total->segs += to->segs - from->segs;
}

static void add_both(struct both_nodes* total, const struct both_nodes* from,
                     const struct both_nodes* to) {
  add(&total->same_node, &from->same_node, &to->same_node);
  add(&total->other_node, &from->other_node, &to->other_node);
}

// ---- marks: intervals with the same label are added up

static struct interval* find(const char* label) {
  for (size_t i = interval_count; i > 0; i--)
    if (strcmp(intervals[i - 1].label, label) == 0) return &intervals[i - 1];
  if (interval_count == INTERVAL_LIMIT) return NULL;
  struct interval* found = &intervals[interval_count++];
  memset(found, 0, sizeof *found);
  memcpy(found->label, label, strlen(label) + 1);
  return found;
}

void marks_set(bool begins, const char* label) {
  witness_sample_range(0, ~0U, SAMPLE_MARK);
  const struct both_nodes now = sockets_carried(false);
  if (begins) {
    running = strlen(label) < LABEL_LENGTH ? find(label) : NULL;
    if (!running) dropped_marks++;
    at_begin = now;
  } else if (running && strcmp(running->label, label) == 0) {
    add_both(&running->carried, &at_begin, &now);
    running = NULL;
  }
}

const struct interval* marks_next(size_t* cursor) {
  return *cursor < interval_count ? &intervals[(*cursor)++] : NULL;
}

uint64_t marks_dropped(void) {
  return dropped_marks;
}

// ---- flushes of stdout: an interval for each

static void keep(const char* text, size_t length) {
  for (size_t i = 0; i < length; i++) {
    if (text[i] == '\n') {
      line_ended = true;
      continue;
    }
    if (line_ended) last_length = 0;
    line_ended = false;
    if (last_length < LABEL_LENGTH - 1) last_line[last_length++] = text[i];
  }
}

static void end_line(void) {
  if (last_length == 0 || line_count >= LINE_LIMIT) return;
  witness_sample_range(0, ~0U, SAMPLE_MARK);
  const struct both_nodes now = sockets_carried(true);
  struct interval* line = &lines[line_count++];
  memset(line, 0, sizeof *line);
  memcpy(line->label, last_line, last_length);
  add_both(&line->carried, &at_flush, &now);
  at_flush = now;
  last_length = 0;
  line_ended = false;
}

// What a second thread prints at the same time is not recorded. A missing line only reduces the
// evidence.
void lines_print(const char* text, size_t length) {
  if (atomic_flag_test_and_set(&lines_busy)) return;
  keep(text, length);
  atomic_flag_clear(&lines_busy);
}

void lines_flush(const char* buffered, size_t length) {
  if (atomic_flag_test_and_set(&lines_busy)) return;
  keep(buffered, length);
  end_line();
  atomic_flag_clear(&lines_busy);
}

const struct interval* lines_next(size_t* cursor) {
  return *cursor < line_count ? &lines[(*cursor)++] : NULL;
}

// Called only in a fork child, which has one thread.
void marks_forget(void) {
  interval_count = line_count = last_length = 0;
  running = NULL;
  dropped_marks = 0;
  atomic_flag_clear(&lines_busy);
  memset(&at_flush, 0, sizeof at_flush);
}
