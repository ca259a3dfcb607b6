// SPDX-License-Identifier: Apache-2.0
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "profiler/inject.h"
#include "profiler/wrap.h"

// SimGrid runs all ranks in one thread, each with its own copy of the static variables.
#ifdef FABRICBENCH_PROFILER_SMPI
#define PER_THREAD
#else
#define PER_THREAD _Thread_local __attribute__((tls_model("initial-exec")))
#endif

struct profile profile;
static PER_THREAD struct thread* self;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int threads;

static struct thread* new_thread(void) {
  struct thread* thread = calloc(1, sizeof *thread);
  if (!thread) abort();
  thread->begin = threads ? clock_ticks() : profile.begin;
  pthread_mutex_lock(&lock);
  thread->number = threads++;
  thread->next = profile.threads;
  profile.threads = thread;
  pthread_mutex_unlock(&lock);
  return thread;
}

struct thread* profile_enter(void) {
  if (!profile.active) return NULL;
  struct thread* thread = self;
  if (!thread) thread = self = new_thread();
  if (thread->inside) return NULL;
  thread->inside = 1;
  return thread;
}

static bool is_one(const char* name) {
  const char* value = getenv(name);
  return value && strcmp(value, "1") == 0;
}

static bool read_directory(void) {
  const char* name = getenv("FABRICBENCH_PROFILE");
  char current[2048] = "";
  if (!name || !*name) return false;
  if (*name != '/' && !getcwd(current, sizeof current)) return false;
  int length = snprintf(profile.directory, sizeof profile.directory, "%s%s%s", current,
                        *current ? "/" : "", name);
  return length > 0 && (size_t)length < sizeof profile.directory;
}

static void read_host(void) {
#ifdef FABRICBENCH_PROFILER_SMPI
  int length;
  PMPI_Get_processor_name(profile.host, &length);  // the simulated host
#else
  struct utsname machine;
  const char* name = uname(&machine) == 0 && *machine.nodename ? machine.nodename : "unknown";
  snprintf(profile.host, sizeof profile.host, "%s", name);
#endif
}

static void read_environment(void) {
  const char* format = getenv("FABRICBENCH_PROFILE_FORMAT");
  if (!read_directory()) profile.directory[0] = '\0';
  profile.tau_files = format && strcmp(format, "tau") == 0;
  profile.sync = is_one("FABRICBENCH_PROFILE_SYNC");
  inject_read();
}

#ifndef FABRICBENCH_PROFILER_SMPI
__attribute__((constructor)) static void load(void) {
  read_environment();
  if (!*profile.directory && !injector.active) return;
  clock_start();
  profile.begin = clock_ticks();
}
#endif

// Counts a call of no function many times. Returns the cost of one in nanoseconds.
static double overhead(void) {
  enum { REPEATS = 5, CALLS = 4000 };
  struct facts facts = {.bytes = 8, .comm_size = 2, .peer = PEER_SELF, .sized = true};
  double best = 1e9;
  for (int repeat = 0; repeat < REPEATS; repeat++) {
    uint64_t first = clock_nanoseconds();
    for (int i = 0; i < CALLS; i++) {
      struct thread* thread = profile_enter();
      if (!thread) return 0;
      uint64_t begin = clock_ticks(), ticks = clock_ticks() - begin;
      facts.bytes = 8 * type_bytes(thread, MPI_BYTE);
      const struct group_facts* members = peers_of_comm(thread, MPI_COMM_WORLD);
      facts.comm_size = (uint32_t)members->size;
      profile_count(thread, FUNCTION_NONE, ticks);
      uint32_t row = table_add(&thread->table, FUNCTION_NONE, &facts, ticks);
      struct target target = message_target(members, STAMP_SEND, 0, 0);
      stamp_call(thread, &target, row, &(struct span){begin, ticks});
      profile_leave(thread);
    }
    double each = (double)(clock_nanoseconds() - first) / CALLS;
    if (each < best) best = each;
  }
  table_clear(&self->table);
  stamps_clear(self);
  return best;
}

bool profile_starting(int change) {
  static int depth;
  depth += change;
  return depth == 1;
}

void profile_start(enum function function, uint64_t ticks) {
  if (profile.active) return;
#ifdef FABRICBENCH_PROFILER_SMPI
  read_environment();
  profile.begin = clock_ticks();
#endif
  if (!*profile.directory && !injector.active) return;
  inject_demand_valid();
  uint64_t begin = clock_ticks();
  read_host();
  PMPI_Comm_rank(MPI_COMM_WORLD, &profile.rank);
  PMPI_Comm_size(MPI_COMM_WORLD, &profile.size);
  PMPI_Query_thread(&profile.thread_level);
  profile.multiple = profile.thread_level == MPI_THREAD_MULTIPLE;
  peers_start();
  if (*profile.directory) stamps_start();
  clocks_start();
  profile.active = true;
  profile.overhead_ns = overhead();
  profile.start_ticks = clock_ticks() - begin;
  struct thread* thread = profile_enter();
  profile_count(thread, function, ticks);
  profile_leave(thread);
}

#ifdef FABRICBENCH_PROFILER_SMPI
// For programs that SimGrid's MPI_Pcontrol would end.
EXPORT void fabricbench_profile_region(int level);

void fabricbench_profile_region(int level) {
  profile_region(level);
}
#endif

void profile_region(int level) {
  if (!profile.active || level < 0 || level > 1 || profile.in_region == (level == 1)) return;
  uint64_t now = clock_ticks();
  if (level == 1) {
    profile.region_begin = now;
    profile.region_calls++;
    profile.region_marked = true;
  } else {
    profile.region_ticks += now - profile.region_begin;
  }
  profile.in_region = level == 1;
}

void profile_finish(enum function function) {
  struct thread* thread = profile_enter();
  if (!thread) return;
  profile_count(thread, function, 0);
  profile_leave(thread);
  profile.active = false;
  profile.end = clock_ticks();
  if (profile.in_region) profile.region_ticks += profile.end - profile.region_begin;
  if (*profile.directory) {
    stamps_match();
    write_profiles();
  }
  PMPI_Comm_free(&profile.node);
}
