// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "launch.h"

// CPU time of all reaped descendants.
static double own_cpu_seconds(void) {
  struct rusage usage;
  getrusage(RUSAGE_CHILDREN, &usage);
  return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

static struct directory open_directory(const char* path) {
  struct directory directory = {.path = path};
  directory.fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory.fd < 0 || faccessat(directory.fd, ".", W_OK | X_OK, 0) != 0) {
    complain("--dir %s: cannot write: %s; give an existing directory that you may write", path,
             strerror(errno));
    exit(EXIT_USE);
  }
  // With an older `end`, a launch that is killed would look finished.
  if (faccessat(directory.fd, "begin", F_OK, AT_SYMLINK_NOFOLLOW) == 0 ||
      faccessat(directory.fd, "end", F_OK, AT_SYMLINK_NOFOLLOW) == 0) {
    complain("--dir %s: already holds a launch; give a new directory", path);
    exit(EXIT_USE);
  }
  return directory;
}

static void begin_json(struct json* out) {
  struct timespec now;
  char time[32];
  clock_gettime(CLOCK_REALTIME, &now);
  snprintf(time, sizeof time, "%lld.%03ld", (long long)now.tv_sec, now.tv_nsec / 1000000);
  json_begin_object(out, NULL);
  json_unsigned(out, "schema", 1);
  json_raw(out, "time", time);
}

static bool end_json(struct atomic_file* file) {
  json_end_object(&file->json);
  sink_char(&file->json.sink, '\n');
  return atomic_commit(file);
}

static bool write_begin(const struct directory* directory, pid_t group) {
  char boot_id[64];
  uint64_t ticks = 0;
  read_line("/proc/sys/kernel/random/boot_id", boot_id, sizeof boot_id);
  start_time(getpid(), &ticks);
  struct atomic_file file;
  struct json* out = &file.json;
  atomic_begin(&file, directory, "begin");
  begin_json(out);
  json_string(out, "host", host_name());
  json_unsigned(out, "pid", (uint64_t)getpid());
  json_unsigned(out, "pgid", (uint64_t)group);
  json_string(out, "boot_id", boot_id);
  json_unsigned(out, "starttime", ticks);
  return end_json(&file);
}

static void microseconds_field(struct json* out, const char* key, double seconds) {
  char text[64];
  snprintf(text, sizeof text, "%.6f", seconds);
  json_raw(out, key, text);
}

static void number_if(struct json* out, const char* key, bool known, int number) {
  if (known)
    json_unsigned(out, key, (uint64_t)number);
  else
    json_null(out, key);
}

static bool write_end(const struct directory* directory, const struct supervisor* supervisor,
                      double seconds, bool timed_out, unsigned leftovers) {
  int status = supervisor->wait_status;
  struct atomic_file file;
  struct json* out = &file.json;
  atomic_begin(&file, directory, "end");
  begin_json(out);
  microseconds_field(out, "seconds", seconds);
  number_if(out, "status", supervisor->reaped && WIFEXITED(status), WEXITSTATUS(status));
  number_if(out, "signal", supervisor->reaped && WIFSIGNALED(status), WTERMSIG(status));
  json_bool(out, "timed_out", timed_out);
  json_unsigned(out, "leftovers", leftovers);
  microseconds_field(out, "cpu_seconds", own_cpu_seconds());
  return end_json(&file);
}

// The exit code of a launch that was interrupted and leaves no `end`; 0 if it was not.
static int interrupted(const struct supervisor* supervisor) {
  if (supervisor->stop_signal) return EXIT_SIGNAL_BASE + supervisor->stop_signal;
  return supervisor->watch_died ? EXIT_WATCH_DIED : 0;
}

static int exit_code(const struct supervisor* supervisor, bool timed_out) {
  if (timed_out) return EXIT_TIME_LIMIT;
  if (WIFSIGNALED(supervisor->wait_status))
    return EXIT_SIGNAL_BASE + WTERMSIG(supervisor->wait_status);
  return WEXITSTATUS(supervisor->wait_status);
}

static int launch(const struct options* options, const struct directory* directory,
                  struct supervisor* supervisor) {
  struct observation before = observe();
  struct started started = start_command(directory, options->command);
  if (started.pid < 0) return errno == ENOSPC || errno == EDQUOT ? EXIT_NO_SPACE : EXIT_USE;
  supervisor->child = started.pid;
  if ((options->host && !write_host(directory, &before, NULL, 0, NULL)) ||
      !write_begin(directory, started.pid)) {
    end_descendants(supervisor, 0);
    return EXIT_NO_SPACE;
  }
  free(before.ports.items);
  before = observe();
  let_go(&started);
  enum outcome outcome = supervise(supervisor, before.time_s, options->limit_s);
  bool timed_out = outcome == TIME_LIMIT;
  unsigned ended = end_descendants(supervisor, options->grace_s);
  struct observation after = observe();

  bool host_written =
      !options->host || write_host(directory, &before, &after, own_cpu_seconds(), NULL);
  int code = interrupted(supervisor);
  if (code) return code;
  double seconds = (supervisor->reaped ? supervisor->ended_s : after.time_s) - before.time_s;
  unsigned leftovers = outcome == CAME_BACK ? ended : 0;
  if (!host_written || !write_end(directory, supervisor, seconds, timed_out, leftovers))
    return EXIT_NO_SPACE;
  int error = execution_error(&started);
  if (error) {
    complain("cannot execute %s: %s; check that it is a program for this machine",
             options->command[0], strerror(error));
    return EXIT_NOT_EXECUTED;
  }
  return exit_code(supervisor, timed_out);
}

// Opens closed standard streams, so that no other file gets their descriptors.
static void occupy_standard_streams(void) {
  int fd;
  do fd = open("/dev/null", O_RDWR);
  while (fd >= 0 && fd <= STDERR_FILENO);
  if (fd >= 0) close(fd);
}

int main(int argc, char** argv) {
  occupy_standard_streams();
  struct options options = parse_options(argc, argv);
  struct directory directory = open_directory(options.directory);
  if (!find_command(options.command[0])) {
    complain("command %s: not found or not executable; check its name and PATH",
             options.command[0]);
    return EXIT_USE;
  }
  int lock = options.lock ? open_lock(options.lock) : -1;
  signal(SIGPIPE, SIG_IGN);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  struct supervisor supervisor;
  supervisor_open(&supervisor, options.watch);
  if (lock >= 0 && !take_lock(&supervisor, lock)) {
    int code = interrupted(&supervisor);
    return code ? code : EXIT_USE;
  }
  if (supervisor.watch_died) return EXIT_WATCH_DIED;
  return launch(&options, &directory, &supervisor);
}
