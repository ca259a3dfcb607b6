// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>
#include <string.h>

#include "launch.h"

static const char help[] =
    "usage: fabricbench-launch --dir DIR --limit SECONDS [option]... -- COMMAND [ARGUMENT]...\n"
    "\n"
    "Runs the command, ends everything that it started, and writes begin, stdout, stderr, end and\n"
    "host.<name> into a directory.\n"
    "\n"
    "  --dir DIR        an existing directory that holds no launch\n"
    "  --limit SECONDS  ends the command after this time\n"
    "  --grace SECONDS  from SIGTERM to SIGKILL (2)\n"
    "  --lock PATH      a file; launches with the same file run one after the other (none)\n"
    "  --watch PID      ends the launch when this process ends (none)\n"
    "  --host yes|no    writes host.<name> (yes); no where fabricbench-node writes it\n"
    "\n"
    "exit code: the command's, 128 + N if signal N ended it, 124 after the time limit, 125 if the\n"
    "watched process ended, 126 if the command cannot be executed, 75 if a file cannot be "
    "written,\n"
    "2 for wrong use.";

static pid_t process_id(const struct option* option) {
  char* end;
  long value = strtol(option->value, &end, 10);
  if (end == option->value || *end || value <= 0 || value > INT_MAX)
    refuse("%s: '%s' is not a process id", option->name, option->value);
  return (pid_t)value;
}

static bool yes_or_no(const struct option* option) {
  bool yes = strcmp(option->value, "yes") == 0;
  if (!yes && strcmp(option->value, "no") != 0)
    refuse("%s: '%s' is neither yes nor no", option->name, option->value);
  return yes;
}

struct options parse_options(int argc, char** argv) {
  static const double most_seconds = 1e8;
  struct options options = {.limit_s = -1, .grace_s = 2, .host = true};
  struct arguments arguments = {.count = argc, .words = argv, .next = 1, .help = help};
  for (struct option option; next_option(&arguments, &option);) {
    if (is_option(&option, "--dir"))
      options.directory = option.value;
    else if (is_option(&option, "--limit"))
      options.limit_s = option_seconds(&option, false, most_seconds);
    else if (is_option(&option, "--grace"))
      options.grace_s = option_seconds(&option, true, most_seconds);
    else if (is_option(&option, "--lock"))
      options.lock = option.value;
    else if (is_option(&option, "--watch"))
      options.watch = process_id(&option);
    else if (is_option(&option, "--host"))
      options.host = yes_or_no(&option);
    else
      refuse_option(&option);
  }
  if (!options.directory) refuse("missing: --dir DIR");
  if (options.limit_s < 0) refuse("missing: --limit SECONDS");
  options.command = command_words(&arguments, "COMMAND");
  return options;
}
