// SPDX-License-Identifier: Apache-2.0
#include "profiler/inject.h"

#include "profiler/inject_link.h"

static int self_in(struct thread* thread, MPI_Comm comm) {
  const struct group_facts* group = peers_of_comm(thread, comm);
  return group ? group->self : MPI_UNDEFINED;
}

void inject_received(struct thread* thread, MPI_Comm comm, int source, int tag, uint64_t bytes,
                     const MPI_Status* status) {
  if (source == MPI_PROC_NULL) return;
  if (status && source == MPI_ANY_SOURCE) source = status->MPI_SOURCE;
  if (status && tag == MPI_ANY_TAG) tag = status->MPI_TAG;
  uint64_t probed = link_take_probed((uint64_t)comm, source, tag);
  struct entry entry = {.bytes = bytes, .source = source, .self = self_in(thread, comm)};
  entry.remote = link_is_remote(source, entry.self);
  link_lock();
  if (!probed) link_arrive(&entry, status, link_now());
  link_unlock();
  link_wait_until(thread, probed ? probed : entry.due);
  if (entry.remote) link_pass_time(injector.overhead_ns);
}

void inject_send(struct thread* thread, MPI_Comm comm, int dest) {
  if (injector.overhead_ns && link_is_remote(dest, self_in(thread, comm)))
    link_pass_time(injector.overhead_ns);
}

void inject_posted(struct thread* thread, MPI_Request handle, MPI_Comm comm, int source, int tag,
                   uint64_t bytes, bool persistent) {
  if (handle == MPI_REQUEST_NULL || source == MPI_PROC_NULL) return;
  struct entry entry = {.handle = (uint64_t)handle, .bytes = bytes, .source = source};
  entry.self = self_in(thread, comm);
  entry.remote = link_is_remote(source, entry.self);
  entry.persistent = persistent;
  entry.active = !persistent;
  entry.due = persistent ? 0 : link_take_probed((uint64_t)comm, source, tag);
  entry.arrived = entry.due > 0;
  link_add(&entry);
}

void inject_posted_matched(MPI_Request handle, uint64_t bytes) {
  if (handle == MPI_REQUEST_NULL) return;
  struct entry entry = {.handle = (uint64_t)handle, .bytes = bytes, .due = link_now()};
  entry.active = entry.arrived = entry.remote = true;
  link_add(&entry);
}

void inject_send_init(struct thread* thread, MPI_Request handle, MPI_Comm comm, int dest) {
  if (handle == MPI_REQUEST_NULL) return;
  struct entry entry = {.handle = (uint64_t)handle, .sends = true, .persistent = true};
  entry.remote = link_is_remote(dest, self_in(thread, comm));
  link_add(&entry);
}

void inject_starting(struct thread* thread, int count) {
  uint64_t sends = 0;
  link_lock();
  for (int i = 0; i < count; i++) {
    const struct entry* entry = thread->handles[i] ? link_find(thread->handles[i]) : NULL;
    if (entry && entry->sends && entry->remote) sends++;
  }
  link_unlock();
  if (sends) link_pass_time(sends * injector.overhead_ns);
}

void inject_started(struct thread* thread, int count) {
  link_lock();
  for (int i = 0; i < count; i++) {
    struct entry* entry = thread->handles[i] ? link_find(thread->handles[i]) : NULL;
    if (!entry || entry->sends) continue;
    entry->active = true;
    entry->arrived = false;
  }
  link_unlock();
}

void inject_forget(uint64_t handle) {
  link_lock();
  struct entry* entry = handle && injector.active ? link_find(handle) : NULL;
  if (entry) link_remove(entry);
  link_unlock();
}

// Claims the receives of the call. Returns how many of them have not arrived or are not due.
static int claim(const struct thread* thread, int count, uint64_t now) {
  int pending = 0;
  link_lock();
  for (int i = 0; i < count; i++) {
    struct entry* entry = link_find_receive(thread->handles[i]);
    if (!entry) continue;
    entry->owner = thread;
    if (!entry->arrived || entry->due > now) pending++;
  }
  link_unlock();
  return pending;
}

void inject_watch(struct thread* thread, int count) {
  if (!injector.active) return;
  bool observes = CAN_OBSERVE && injector.withholds;
  while (claim(thread, count, UINT64_MAX) && observes) link_observe(thread);
}

bool inject_ready(struct thread* thread, int count) {
  if (!injector.active) return true;
  link_observe(thread);
  bool ready = !claim(thread, count, link_now()) || !injector.withholds || !CAN_OBSERVE;
  if (!ready) link_release(thread);
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
  link_observe(thread);
  uint64_t now = link_now();
  link_lock();
  for (int i = 0; i < count; i++) {
    uint64_t handle = thread->handles[i];
    struct entry* entry = link_find_receive(handle);
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
  link_unlock();
  return !blocks || ready || !thread->hidden;
}

void inject_show(struct thread* thread, void* requests, int count, bool fortran) {
  if (!thread->hidden) return;
  link_lock();
  for (int i = 0; i < count; i++) {
    struct entry* entry = link_find_receive(thread->handles[i]);
    if (!entry || !entry->hidden) continue;
    set_request(requests, i, fortran, (MPI_Request)thread->handles[i]);
    entry->hidden = false;
    entry->owner = NULL;
  }
  link_unlock();
}

// Removes a completed receive. Returns when the program may see it.
static uint64_t complete(uint64_t handle, const MPI_Status* status, uint64_t now, int* remote) {
  struct entry* entry = link_find_receive(handle);
  if (!entry) return 0;
  link_arrive(entry, status, now);
  uint64_t due = entry->due;
  *remote += entry->remote;
  entry->owner = NULL;
  entry->active = false;
  if (!entry->persistent) link_remove(entry);
  return due;
}

void inject_completed(struct thread* thread, const struct completion* completion, bool succeeded) {
  int remote = 0;
  for (int i = 0; !succeeded && i < completion->count; i++) inject_forget(thread->handles[i]);
  uint64_t now = link_now(), latest = 0;
  link_lock();
  for (int i = 0; i < completion->completed; i++) {
    int index = completion->indices ? completion->indices[i] - completion->first_index : i;
    if (index < 0 || index >= completion->count) continue;
    const MPI_Status* status = completion->statuses ? &completion->statuses[i] : NULL;
    uint64_t due = complete(thread->handles[index], status, now, &remote);
    if (due > latest) latest = due;
  }
  link_unlock();
  link_release(thread);
  link_wait_until(thread, latest);
  if (remote) link_pass_time((uint64_t)remote * injector.overhead_ns);
}

bool inject_withholds_probe(struct thread* thread, MPI_Comm comm, int source, int tag) {
  if (!CAN_OBSERVE || !injector.active || !injector.withholds) return false;
  MPI_Status status;
  int flag = 0, bytes = 0;
  link_observe(thread);
  if (PMPI_Iprobe(source, tag, comm, &flag, &status) != MPI_SUCCESS) return false;
  if (!flag) return true;
  thread->probed_source = status.MPI_SOURCE;
  thread->probed_tag = status.MPI_TAG;
  if (!link_is_remote(status.MPI_SOURCE, self_in(thread, comm))) return false;
  uint64_t now = link_now();
  PMPI_Get_count(&status, MPI_BYTE, &bytes);
  link_lock();
  uint64_t due = link_probed((uint64_t)comm, status.MPI_SOURCE, status.MPI_TAG,
                             bytes > 0 ? (uint64_t)bytes : 0, now);
  link_unlock();
  return due > now;
}

void inject_matched(struct thread* thread, MPI_Comm comm) {
  link_take_probed((uint64_t)comm, thread->probed_source, thread->probed_tag);
}
