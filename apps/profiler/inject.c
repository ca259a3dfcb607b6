// SPDX-License-Identifier: Apache-2.0
#include "profiler/inject.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

// A receive, or a persistent send, between its start and its completion.
struct entry {
  uint64_t handle, bytes;
  uint64_t due;                // when the program may see the message, if it has arrived
  const struct thread* owner;  // whose call completes it; other threads must not touch it
  int source, self;            // the requested rank, and the own one in the communicator
  bool sends, persistent, active, arrived, hidden, remote;
};

// An arrived message that was probed and not received yet.
struct probed {
  uint64_t comm, due;
  int source, tag;
};

static struct entry* entries;
static struct probed* messages;
static int entry_count, entry_capacity, message_count, message_capacity;
static uint64_t link_free;  // when the serial link has passed on all messages
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

#ifdef FABRICBENCH_PROFILER_SMPI
enum { CAN_OBSERVE = false };

static uint64_t now_ns(void) {
  return clock_nanoseconds();
}

static void pass_time(uint64_t ns) {
  struct timespec time = {(time_t)(ns / UINT64_C(1000000000)), (long)(ns % UINT64_C(1000000000))};
  nanosleep(&time, NULL);  // SimGrid's: it advances the simulated time
}
#else
enum { CAN_OBSERVE = true };

static uint64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

static void pass_time(uint64_t ns) {
  uint64_t end = now_ns() + ns;
  while (now_ns() < end) continue;
}
#endif

static void begin(void) {
  if (profile.multiple) pthread_mutex_lock(&lock);
}

static void end(void) {
  if (profile.multiple) pthread_mutex_unlock(&lock);
}

static void* larger(void* list, int count, int* capacity, size_t bytes) {
  if (count < *capacity) return list;
  *capacity = count ? 2 * count : 64;
  list = realloc(list, (size_t)*capacity * bytes);
  if (!list) abort();
  return list;
}

static void add(const struct entry* entry) {
  begin();
  entries = larger(entries, entry_count, &entry_capacity, sizeof *entries);
  entries[entry_count++] = *entry;
  end();
}

static struct entry* find(uint64_t handle) {
  for (int i = entry_count - 1; i >= 0; i--)
    if (entries[i].handle == handle) return &entries[i];
  return NULL;
}

// The active receive with this handle, or null.
static struct entry* find_receive(uint64_t handle) {
  struct entry* entry = handle ? find(handle) : NULL;
  return entry && entry->active && !entry->sends ? entry : NULL;
}

// When a message that arrives now may be seen.
static uint64_t due_of(uint64_t bytes, uint64_t now) {
  uint64_t start = now > link_free ? now : link_free;
  link_free = start + (uint64_t)(injector.ns_per_byte * (double)bytes + 0.5);
  return link_free + injector.latency_ns;
}

static bool is_remote(int source, int self) {
  return source != MPI_PROC_NULL && source != self;
}

static void arrive(struct entry* entry, const MPI_Status* status, uint64_t now) {
  if (entry->arrived) return;
  int bytes = MPI_UNDEFINED;
  if (status) {
    PMPI_Get_count(status, MPI_BYTE, &bytes);
    if (entry->source == MPI_ANY_SOURCE)
      entry->remote = is_remote(status->MPI_SOURCE, entry->self);
  }
  if (bytes != MPI_UNDEFINED && bytes >= 0) entry->bytes = (uint64_t)bytes;
  entry->arrived = true;
  entry->due = entry->remote && injector.withholds ? due_of(entry->bytes, now) : now;
}

// Observes the arrivals of all pending receives.
static void observe(const struct thread* thread) {
  if (!CAN_OBSERVE || !injector.withholds) return;
  int flag;
  begin();
  for (int i = 0; i < entry_count; i++) {
    struct entry* entry = &entries[i];
    bool foreign = entry->owner && entry->owner != thread;
    if (entry->sends || !entry->active || entry->arrived || foreign) continue;
    MPI_Status status;
    PMPI_Request_get_status((MPI_Request)entry->handle, &flag, &status);
    if (flag) arrive(entry, &status, now_ns());
  }
  end();
  PMPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);  // progress
}

static void wait_until(const struct thread* thread, uint64_t due) {
  uint64_t now = now_ns();
  if (!CAN_OBSERVE && now < due) pass_time(due - now);
  while (CAN_OBSERVE && now_ns() < due) observe(thread);
}

// Removes a message that was probed, and returns when it may be seen; 0 if there is none.
static uint64_t take_probed(uint64_t comm, int source, int tag) {
  uint64_t due = 0;
  begin();
  for (int i = 0; i < message_count && !due; i++) {
    const struct probed* message = &messages[i];
    if (message->comm != comm || (source != MPI_ANY_SOURCE && message->source != source) ||
        (tag != MPI_ANY_TAG && message->tag != tag))
      continue;
    due = message->due;
    for (message_count--; i < message_count; i++) messages[i] = messages[i + 1];
  }
  end();
  return due;
}

static int self_in(struct thread* thread, MPI_Comm comm) {
  const struct group_facts* group = peers_of_comm(thread, comm);
  return group ? group->self : MPI_UNDEFINED;
}

void inject_received(struct thread* thread, MPI_Comm comm, int source, int tag, uint64_t bytes,
                     const MPI_Status* status) {
  if (source == MPI_PROC_NULL) return;
  if (status && source == MPI_ANY_SOURCE) source = status->MPI_SOURCE;
  if (status && tag == MPI_ANY_TAG) tag = status->MPI_TAG;
  uint64_t probed = take_probed((uint64_t)comm, source, tag);
  struct entry entry = {.bytes = bytes, .source = source, .self = self_in(thread, comm)};
  entry.remote = is_remote(source, entry.self);
  begin();
  if (!probed) arrive(&entry, status, now_ns());
  end();
  wait_until(thread, probed ? probed : entry.due);
  if (entry.remote) pass_time(injector.overhead_ns);
}

void inject_send(struct thread* thread, MPI_Comm comm, int dest) {
  if (injector.overhead_ns && is_remote(dest, self_in(thread, comm)))
    pass_time(injector.overhead_ns);
}

void inject_posted(struct thread* thread, MPI_Request handle, MPI_Comm comm, int source, int tag,
                   uint64_t bytes, bool persistent) {
  if (handle == MPI_REQUEST_NULL || source == MPI_PROC_NULL) return;
  struct entry entry = {.handle = (uint64_t)handle, .bytes = bytes, .source = source};
  entry.self = self_in(thread, comm);
  entry.remote = is_remote(source, entry.self);
  entry.persistent = persistent;
  entry.active = !persistent;
  entry.due = persistent ? 0 : take_probed((uint64_t)comm, source, tag);
  entry.arrived = entry.due > 0;
  add(&entry);
}

void inject_posted_matched(MPI_Request handle, uint64_t bytes) {
  if (handle == MPI_REQUEST_NULL) return;
  struct entry entry = {.handle = (uint64_t)handle, .bytes = bytes, .due = now_ns()};
  entry.active = entry.arrived = entry.remote = true;
  add(&entry);
}

void inject_send_init(struct thread* thread, MPI_Request handle, MPI_Comm comm, int dest) {
  if (handle == MPI_REQUEST_NULL) return;
  struct entry entry = {.handle = (uint64_t)handle, .sends = true, .persistent = true};
  entry.remote = is_remote(dest, self_in(thread, comm));
  add(&entry);
}

void inject_starting(struct thread* thread, int count) {
  uint64_t sends = 0;
  begin();
  for (int i = 0; i < count; i++) {
    const struct entry* entry = thread->handles[i] ? find(thread->handles[i]) : NULL;
    if (entry && entry->sends && entry->remote) sends++;
  }
  end();
  if (sends) pass_time(sends * injector.overhead_ns);
}

void inject_started(struct thread* thread, int count) {
  begin();
  for (int i = 0; i < count; i++) {
    struct entry* entry = thread->handles[i] ? find(thread->handles[i]) : NULL;
    if (!entry || entry->sends) continue;
    entry->active = true;
    entry->arrived = false;
  }
  end();
}

void inject_forget(uint64_t handle) {
  begin();
  struct entry* entry = handle && injector.active ? find(handle) : NULL;
  if (entry) *entry = entries[--entry_count];
  end();
}

// Claims the receives of the call. Returns how many of them have not arrived or are not due.
static int claim(const struct thread* thread, int count, uint64_t now) {
  int pending = 0;
  begin();
  for (int i = 0; i < count; i++) {
    struct entry* entry = find_receive(thread->handles[i]);
    if (!entry) continue;
    entry->owner = thread;
    if (!entry->arrived || entry->due > now) pending++;
  }
  end();
  return pending;
}

static void release(const struct thread* thread) {
  begin();
  for (int i = 0; i < entry_count; i++)
    if (entries[i].owner == thread) entries[i].owner = NULL;
  end();
}

void inject_watch(struct thread* thread, int count) {
  if (!injector.active) return;
  bool observes = CAN_OBSERVE && injector.withholds;
  while (claim(thread, count, UINT64_MAX) && observes) observe(thread);
}

bool inject_ready(struct thread* thread, int count) {
  if (!injector.active) return true;
  observe(thread);
  bool ready = !claim(thread, count, now_ns()) || !injector.withholds || !CAN_OBSERVE;
  if (!ready) release(thread);
  return ready;
}

static void set_request(void* requests, int at, bool fortran, MPI_Request request) {
  if (fortran)
    ((MPI_Fint*)requests)[at] = MPI_Request_c2f(request);
  else
    ((MPI_Request*)requests)[at] = request;
}

bool inject_hide(struct thread* thread, void* requests, int count, bool fortran, bool blocks) {
  thread->hidden = 0;
  if (!injector.active) return true;
  if (!CAN_OBSERVE || !injector.withholds) {
    claim(thread, count, 0);
    return true;
  }
  bool ready = false;
  observe(thread);
  uint64_t now = now_ns();
  begin();
  for (int i = 0; i < count; i++) {
    uint64_t handle = thread->handles[i];
    struct entry* entry = find_receive(handle);
    int flag = entry && entry->arrived && entry->due <= now;
    if (entry) {
      entry->owner = thread;
      entry->hidden = !flag;
    } else if (handle && blocks && !ready) {
      PMPI_Request_get_status((MPI_Request)handle, &flag, MPI_STATUS_IGNORE);
    }
    if (entry && entry->hidden) {
      set_request(requests, i, fortran, MPI_REQUEST_NULL);
      thread->hidden++;
    }
    ready = ready || flag;
  }
  end();
  return !blocks || ready || !thread->hidden;
}

void inject_show(struct thread* thread, void* requests, int count, bool fortran) {
  if (!thread->hidden) return;
  begin();
  for (int i = 0; i < count; i++) {
    struct entry* entry = find_receive(thread->handles[i]);
    if (!entry || !entry->hidden) continue;
    set_request(requests, i, fortran, (MPI_Request)thread->handles[i]);
    entry->hidden = false;
    entry->owner = NULL;
  }
  end();
}

// Removes a completed receive. Returns when the program may see it.
static uint64_t complete(uint64_t handle, const MPI_Status* status, uint64_t now, int* remote) {
  struct entry* entry = find_receive(handle);
  if (!entry) return 0;
  arrive(entry, status, now);
  uint64_t due = entry->due;
  *remote += entry->remote;
  entry->owner = NULL;
  entry->active = false;
  if (!entry->persistent) *entry = entries[--entry_count];
  return due;
}

void inject_completed(struct thread* thread, const struct completion* completion, bool succeeded) {
  int remote = 0;
  for (int i = 0; !succeeded && i < completion->count; i++) inject_forget(thread->handles[i]);
  uint64_t now = now_ns(), latest = 0;
  begin();
  for (int i = 0; i < completion->completed; i++) {
    int index = completion->indices ? completion->indices[i] - completion->first_index : i;
    if (index < 0 || index >= completion->count) continue;
    const MPI_Status* status = completion->statuses ? &completion->statuses[i] : NULL;
    uint64_t due = complete(thread->handles[index], status, now, &remote);
    if (due > latest) latest = due;
  }
  end();
  release(thread);
  wait_until(thread, latest);
  if (remote) pass_time((uint64_t)remote * injector.overhead_ns);
}

bool inject_withholds_probe(struct thread* thread, MPI_Comm comm, int source, int tag) {
  if (!CAN_OBSERVE || !injector.active || !injector.withholds) return false;
  MPI_Status status;
  int flag, bytes;
  observe(thread);
  PMPI_Iprobe(source, tag, comm, &flag, &status);
  if (!flag) return true;
  thread->probed_source = status.MPI_SOURCE;
  thread->probed_tag = status.MPI_TAG;
  if (!is_remote(status.MPI_SOURCE, self_in(thread, comm))) return false;
  uint64_t now = now_ns(), due = 0;
  begin();
  for (int i = 0; i < message_count && !due; i++)
    if (messages[i].comm == (uint64_t)comm && messages[i].source == status.MPI_SOURCE &&
        messages[i].tag == status.MPI_TAG)
      due = messages[i].due;
  if (!due) {
    PMPI_Get_count(&status, MPI_BYTE, &bytes);
    due = due_of(bytes > 0 ? (uint64_t)bytes : 0, now);
    messages = larger(messages, message_count, &message_capacity, sizeof *messages);
    messages[message_count++] =
        (struct probed){(uint64_t)comm, due, status.MPI_SOURCE, status.MPI_TAG};
  }
  end();
  return due > now;
}

void inject_matched(struct thread* thread, MPI_Comm comm) {
  take_probed((uint64_t)comm, thread->probed_source, thread->probed_tag);
}
