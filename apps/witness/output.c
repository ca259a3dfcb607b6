// SPDX-License-Identifier: Apache-2.0
//
// Interposed is what prints to stdout and flushes it, so that the lines of a benchmark tell its
// sizes apart. What is printed does not change. Only with glibc, whose buffers can be read.
#undef _FORTIFY_SOURCE  // its inline functions would stand where these are defined
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "witness.h"

#ifdef __GLIBC__
#include <stdio_ext.h>

static bool is_own_stdout(const FILE* stream) {
  return stream == stdout && witness_process.active && witness_process.pid == (int)getpid();
}

EXPORT int fflush(FILE* stream) {
  static int (*next)(FILE*);
  if (is_own_stdout(stream)) {
    int saved = errno;
    lines_flush(stream->_IO_write_base, (size_t)(stream->_IO_write_ptr - stream->_IO_write_base));
    errno = saved;
  }
  if (!next) {
    void* symbol = dlsym(RTLD_NEXT, "fflush");
    memcpy(&next, &symbol, sizeof symbol);
  }
  return next(stream);
}

// Prints as vfprintf does. Keeps the text where stdout has no buffer from which a flush could read
// it.
static int print(FILE* stream, const char* format, va_list arguments) {
  if (is_own_stdout(stream) && __fbufsize(stream) <= 1) {
    char text[256];
    int saved = errno;
    va_list copy;
    va_copy(copy, arguments);
    if (vsnprintf(text, sizeof text, format, copy) > 0) lines_print(text, strlen(text));
    va_end(copy);
    errno = saved;
  }
  return vfprintf(stream, format, arguments);
}

#define PRINT(stream, format)                    \
  va_list arguments;                             \
  va_start(arguments, format);                   \
  int length = print(stream, format, arguments); \
  va_end(arguments);                             \
  return length

#pragma GCC diagnostic ignored "-Wformat-nonliteral"  // the formats are the program's

EXPORT int printf(const char* format, ...) {
  PRINT(stdout, format);
}

EXPORT int fprintf(FILE* stream, const char* format, ...) {
  PRINT(stream, format);
}

// What printf and fprintf are in programs built with _FORTIFY_SOURCE.
int __printf_chk(int flag, const char* format, ...);
int __fprintf_chk(FILE* stream, int flag, const char* format, ...);

EXPORT int __printf_chk(int flag, const char* format, ...) {
  (void)flag;
  PRINT(stdout, format);
}

EXPORT int __fprintf_chk(FILE* stream, int flag, const char* format, ...) {
  (void)flag;
  PRINT(stream, format);
}

#endif
