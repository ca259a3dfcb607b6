// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/complain.h"
#include "profiler/inject.h"

struct injector injector;

static const char* const FORM =
    "latency=NUMBERus, per_byte=NUMBERns, both with a comma between, or overhead=NUMBERus";

// Reads a decimal number below a million and its unit. Returns the text behind it, null if the text
// has another form.
static const char* read_number(const char* text, const char* unit, double* value) {
  size_t whole = strspn(text, "0123456789"), length = whole;
  if (!whole || whole > 6) return NULL;
  if (text[length] == '.') {
    size_t digits = strspn(text + length + 1, "0123456789");
    if (!digits || digits > 9) return NULL;
    length += 1 + digits;
  }
  *value = strtod(text, NULL);
  if (strncmp(text + length, unit, strlen(unit)) != 0) return NULL;
  return text + length + strlen(unit);
}

static bool read_settings(const char* text) {
  static const struct {
    const char *name, *unit;
  } keys[] = {{"latency=", "us"}, {"per_byte=", "ns"}, {"overhead=", "us"}};
  enum { LATENCY, PER_BYTE, OVERHEAD, KEYS };
  double values[KEYS] = {0};
  bool is_set[KEYS] = {false};
  for (;;) {
    int key = 0;
    while (key < KEYS && strncmp(text, keys[key].name, strlen(keys[key].name)) != 0) key++;
    if (key == KEYS || is_set[key]) return false;
    is_set[key] = true;
    text = read_number(text + strlen(keys[key].name), keys[key].unit, &values[key]);
    if (!text) return false;
    if (!*text) break;
    if (*text++ != ',') return false;
  }
  injector.withholds = is_set[LATENCY] || is_set[PER_BYTE];
  injector.latency_ns = (uint64_t)(1e3 * values[LATENCY] + 0.5);
  injector.ns_per_byte = values[PER_BYTE];
  injector.overhead_ns = (uint64_t)(1e3 * values[OVERHEAD] + 0.5);
  return !(injector.withholds && is_set[OVERHEAD]);
}

void inject_read(void) {
  const char* text = getenv("FABRICBENCH_INJECT");
  memset(&injector, 0, sizeof injector);
  if (!text) return;
  snprintf(injector.text, sizeof injector.text, "%s", text);
  injector.malformed = strlen(text) >= sizeof injector.text || !read_settings(text);
  injector.active = true;
}

void inject_demand_valid(void) {
  if (!injector.malformed) return;
  int rank;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0)
    complain("fabricbench-profiler: FABRICBENCH_INJECT=%s is not valid; expected %s", injector.text,
             FORM);
  PMPI_Barrier(MPI_COMM_WORLD);
#ifndef FABRICBENCH_PROFILER_SMPI
  PMPI_Abort(MPI_COMM_WORLD, 2);
#endif
  exit(2);
}
