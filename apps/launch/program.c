// SPDX-License-Identifier: Apache-2.0
#include "program.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void refuse(const char* format, ...) {
  char text[PATH_MAX];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  complain("%s; see %s --help", text, program_invocation_short_name);
  exit(EXIT_USE);
}

bool next_option(struct arguments* arguments, struct option* option) {
  int i = arguments->next;
  if (i >= arguments->count || strcmp(arguments->words[i], "--") == 0) return false;
  option->name = arguments->words[i];
  option->value = i + 1 < arguments->count ? arguments->words[i + 1] : "--";
  if (is_option(option, "--help")) {
    puts(arguments->help);
    exit(EXIT_SUCCESS);
  }
  if (strncmp(option->name, "--", 2) != 0)
    refuse("'%s': expected an option, or -- before the command", option->name);
  bool empty = !*option->value && !arguments->empty_values;
  if (empty || strcmp(option->value, "--") == 0) refuse("%s: the value is missing", option->name);
  arguments->next += 2;
  return true;
}

bool is_option(const struct option* option, const char* name) {
  return strcmp(option->name, name) == 0;
}

void refuse_option(const struct option* option) {
  refuse("unknown option %s", option->name);
}

double option_seconds(const struct option* option, bool zero_allowed, double most) {
  char* end;
  double value = strtod(option->value, &end);
  bool in_range = isfinite(value) && value <= most && (zero_allowed ? value >= 0 : value > 0);
  if (end == option->value || *end || !in_range) {
    refuse("%s: '%s' is not a %s number of seconds, at most %g", option->name, option->value,
           zero_allowed ? "non-negative" : "positive", most);
  }
  return value;
}

char** command_words(const struct arguments* arguments, const char* what) {
  int first = arguments->next + 1;
  if (first >= arguments->count || !*arguments->words[first]) refuse("missing: -- %s", what);
  return arguments->words + first;
}

double monotonic_s(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}
