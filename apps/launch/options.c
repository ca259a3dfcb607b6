// SPDX-License-Identifier: Apache-2.0
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "launch.h"

static const char usage[] =
    "usage: fabricbench-launch --dir DIR --limit SECONDS [--grace SECONDS] [--lock PATH] "
    "[--watch PID] [--host yes|no] -- COMMAND [ARGUMENT...]";

static _Noreturn void refuse(const char* what, const char* which) {
  complain("%s '%s'; %s", what, which, usage);
  exit(EXIT_USE);
}

static double seconds(const char* name, const char* text, bool zero_allowed) {
  char* end;
  double value = strtod(text, &end);
  if (end == text || *end || !isfinite(value) || value < 0 || (value == 0 && !zero_allowed) ||
      value > 1e8)
    refuse(name, text);
  return value;
}

static pid_t process_id(const char* text) {
  char* end;
  long value = strtol(text, &end, 10);
  if (end == text || *end || value <= 0 || value > INT_MAX)
    refuse("--watch needs a process id, not", text);
  return (pid_t)value;
}

static bool yes_or_no(const char* text) {
  bool yes = strcmp(text, "yes") == 0;
  if (!yes && strcmp(text, "no") != 0) refuse("--host needs yes or no, not", text);
  return yes;
}

struct options parse_options(int argc, char** argv) {
  struct options options = {.limit_s = -1, .grace_s = 2, .host = true};
  int i = 1;
  for (; i < argc && strcmp(argv[i], "--") != 0; i += 2) {
    const char* name = argv[i];
    const char* value = i + 1 < argc ? argv[i + 1] : NULL;
    if (strcmp(name, "--help") == 0) {
      puts(usage);
      exit(EXIT_SUCCESS);
    }
    if (strncmp(name, "--", 2) != 0) refuse("a -- must stand before the command", name);
    if (!value || strcmp(value, "--") == 0 || !*value) refuse("a value is missing after", name);
    if (strcmp(name, "--dir") == 0)
      options.directory = value;
    else if (strcmp(name, "--limit") == 0)
      options.limit_s = seconds("--limit needs a positive number of seconds, not", value, false);
    else if (strcmp(name, "--grace") == 0)
      options.grace_s = seconds("--grace needs a number of seconds, not", value, true);
    else if (strcmp(name, "--lock") == 0)
      options.lock = value;
    else if (strcmp(name, "--watch") == 0)
      options.watch = process_id(value);
    else if (strcmp(name, "--host") == 0)
      options.host = yes_or_no(value);
    else
      refuse("unknown option", name);
  }
  if (!options.directory) refuse("missing", "--dir DIR");
  if (options.limit_s < 0) refuse("missing", "--limit SECONDS");
  if (i + 1 >= argc || !*argv[i + 1]) refuse("missing", "-- COMMAND");
  options.command = argv + i + 1;
  return options;
}
