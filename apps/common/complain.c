// SPDX-License-Identifier: Apache-2.0
#include "common/complain.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>

void complain_as(const char* program, const char* text) {
  fprintf(stderr, "%s: %s\n", program, text);  // stderr has no buffer: one write
}

void complain(const char* format, ...) {
  char text[PATH_MAX + 512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  complain_as(program_invocation_short_name, text);
}
