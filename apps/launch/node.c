// SPDX-License-Identifier: Apache-2.0
//
// fabricbench-node starts each rank where a resource manager's daemons start the ranks:
//
//   srun ... fabricbench-node --dir DIR --witness LIBRARIES --expect RANKS -- PROGRAM [ARGUMENT...]
//
// It sets the variables that the witness needs and executes the program. On the first rank of each
// node it stays as the program's parent and writes host.<name> into DIR: before the program starts,
// so that the facts of a node that fails are there, and again with load and counters after its end.
// It forwards signals and ends with the program's status.
//
// With --gather BASE, a directory on the node itself, the ranks write their reports there and the
// first rank's fabricbench-node writes their sums into host.<name>. A shared file system then
// receives one file per node.
#include "node.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static const char help[] =
    "usage: fabricbench-node --dir DIR [option]... -- PROGRAM [ARGUMENT]...\n"
    "\n"
    "Starts one rank with the witness. On the first rank of each node it also writes host.<name>.\n"
    "\n"
    "  --dir DIR            the launch's directory\n"
    "  --witness LIBRARIES  libraries for LD_PRELOAD (none)\n"
    "  --expect RANKS       the program refuses a world of another size (none)\n"
    "  --gather BASE        a directory on this node; host.<name> has the sums of its ranks' "
    "reports\n"
    "\n"
    "exit code: the program's, 126 or 127 if it cannot be executed, 75 if host.<name> cannot be\n"
    "written, 2 for wrong use.";

struct options {
  const char *directory, *witness, *expect, *gather;  // NULL: none; witness as LD_PRELOAD
  char** command;
};

static struct options parse_options(int argc, char** argv) {
  struct options options = {0};
  struct arguments arguments = {.count = argc, .words = argv, .next = 1, .help = help};
  for (struct option option; next_option(&arguments, &option);) {
    if (is_option(&option, "--dir"))
      options.directory = option.value;
    else if (is_option(&option, "--witness"))
      options.witness = option.value;
    else if (is_option(&option, "--expect"))
      options.expect = option.value;
    else if (is_option(&option, "--gather"))
      options.gather = option.value;
    else
      refuse_option(&option);
  }
  if (!options.directory) refuse("missing: --dir DIR");
  if (options.expect && strspn(options.expect, "0123456789") != strlen(options.expect))
    refuse("--expect: '%s' is not a number of ranks", options.expect);
  options.command = command_words(&arguments, "PROGRAM");
  return options;
}

enum place { FIRST, LATER, UNKNOWN };

// The place of this rank on its node, from the launcher's variables. Slurm's come last: other
// launchers inherit them inside a Slurm job.
static enum place place_on_node(void) {
  static const char* const names[] = {
      "MPI_LOCALRANKID", "OMPI_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_LOCAL_RANK",
      "PMI_LOCAL_RANK",  "PALS_LOCAL_RANKID",          "FLUX_TASK_LOCAL_ID",
      "SLURM_LOCALID"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    const char* rank = getenv(names[i]);
    if (rank && *rank) return strcmp(rank, "0") == 0 ? FIRST : LATER;
  }
  return UNKNOWN;
}

static void prepare(const struct options* options, const struct gathering* gathering) {
  bool gathers = *gathering->path;
  const char* reports = gathers ? gathering->path : options->directory;
  bool set = setenv("FABRICBENCH_WITNESS_DIR", reports, 1) == 0;
  if (gathers)
    set = setenv("FABRICBENCH_WITNESS_PLAIN", "1", 1) == 0 && set;
  else
    unsetenv("FABRICBENCH_WITNESS_PLAIN");
  if (options->witness) set = setenv("LD_PRELOAD", options->witness, 1) == 0 && set;
  if (options->expect) set = setenv("FABRICBENCH_EXPECT_RANKS", options->expect, 1) == 0 && set;
  if (set) return;
  complain("cannot set the program's environment: %s; free some memory", strerror(errno));
  exit(EXIT_USE);
}

static _Noreturn void become(char** command, const struct gathering* gathering) {
  gathering_join(gathering);
  execvp(command[0], command);
  int error = errno;
  complain("cannot execute %s: %s; check its name and PATH", command[0], strerror(error));
  _exit(error == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTED);
}

// Starts the program in its own process group, so that it receives a signal to this group only
// once, forwarded by this process.
static pid_t start(char** command, const struct gathering* gathering, const sigset_t* signals) {
  pid_t parent = getpid(), child = fork();
  if (child != 0) return child;
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(EXIT_USE);
  sigprocmask(SIG_SETMASK, signals, NULL);
  become(command, gathering);
}

// Forwards every signal until the program has ended; returns its wait status.
static int wait_for(pid_t child, const sigset_t* all) {
  for (;;) {
    int number = sigwaitinfo(all, NULL), status;
    if (number < 0) continue;
    if (number != SIGCHLD)
      kill(child, number);
    else if (waitpid(child, &status, WNOHANG) == child)
      return status;
  }
}

static _Noreturn void end_as(int status, const sigset_t* signals) {
  if (WIFSIGNALED(status)) {
    setrlimit(RLIMIT_CORE, &(struct rlimit){0});  // the program has written its core file
    signal(WTERMSIG(status), SIG_DFL);
    raise(WTERMSIG(status));  // blocked until the mask is restored
    sigprocmask(SIG_SETMASK, signals, NULL);
    exit(EXIT_SIGNAL_BASE + WTERMSIG(status));
  }
  exit(WEXITSTATUS(status));
}

static void write_sums(struct json* out, void* context) {
  sums_write(out, context);
}

static _Noreturn void stay_beside(const struct options* options,
                                  const struct gathering* gathering) {
  struct directory directory = {.path = options->directory};
  directory.fd = open(directory.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory.fd < 0) {
    complain("--dir %s: cannot open: %s; give an existing directory", directory.path,
             strerror(errno));
    exit(EXIT_USE);
  }
  struct observation before = observe();
  if (!write_host(&directory, &before, NULL, (double)NAN, NULL)) exit(EXIT_NO_SPACE);
  sigset_t all, signals;
  sigfillset(&all);
  signal(SIGCHLD, SIG_DFL);  // if it were ignored, the kernel would reap the program
  sigprocmask(SIG_BLOCK, &all, &signals);
  pid_t child = start(options->command, gathering, &signals);
  if (child < 0) {
    complain("cannot start a process: %s; check the limits (ulimit -u)", strerror(errno));
    exit(EXIT_USE);
  }
  int status = wait_for(child, &all);
  struct observation after = observe();
  write_host(&directory, &before, &after, (double)NAN, NULL);
  // After a failure there is no wait: the launcher must learn of the failure at once.
  struct sums sums = gathering_close(gathering, WIFEXITED(status) && WEXITSTATUS(status) == 0);
  const struct more_fields more = {.write = write_sums, .context = &sums};
  if (sums.reports && !sums.failed) write_host(&directory, &before, &after, (double)NAN, &more);
  sums_free(&sums);
  end_as(status, &signals);
}

int main(int argc, char** argv) {
  struct options options = parse_options(argc, argv);
  enum place place = place_on_node();
  struct gathering gathering = {.path = ""};
  if (options.gather && place != UNKNOWN)
    gathering = gathering_open(options.gather, options.directory);
  prepare(&options, &gathering);
  if (place != LATER) stay_beside(&options, &gathering);
  become(options.command, &gathering);
}
