// SPDX-License-Identifier: Apache-2.0
//
// What fabricbench-launch, -node and -client-server share: exit codes, messages, options, the
// clock.
#ifndef FABRICBENCH_PROGRAM_H
#define FABRICBENCH_PROGRAM_H

#include <stdbool.h>

#include "common/complain.h"

enum {
  EXIT_USE = 2,        // wrong use, unwritable directory, command not found
  EXIT_NO_SPACE = 75,  // a file could not be written
  EXIT_NOT_EXECUTED = 126,
  EXIT_NOT_FOUND = 127,
  EXIT_SIGNAL_BASE = 128,
};

// Prints the message and where to find help, and exits with EXIT_USE.
__attribute__((format(printf, 1, 2))) _Noreturn void refuse(const char* format, ...);

// The command line, of the form [--NAME VALUE]... -- COMMAND [ARGUMENT...].
struct arguments {
  int count;
  char** words;       // argv
  int next;           // index of the next word
  const char* help;   // what --help prints
  bool empty_values;  // an option may have the value ""
};

struct option {
  const char *name, *value;
};

// Reads the next option. Returns false at "--" or at the end. Exits after --help, and with EXIT_USE
// if a value is missing or a word is no option.
bool next_option(struct arguments* arguments, struct option* option);
// Whether the option has this name.
bool is_option(const struct option* option, const char* name);
_Noreturn void refuse_option(const struct option* option);  // an unknown one
// Returns the seconds that the option states: a positive number, or zero if that is allowed.
double option_seconds(const struct option* option, bool zero_allowed, double most);
// The words after "--", with NULL at the end. Exits with EXIT_USE if there are none.
char** command_words(const struct arguments* arguments, const char* what);

double monotonic_s(void);

#endif
