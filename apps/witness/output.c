// SPDX-License-Identifier: Apache-2.0
//
// Interposes the functions that print to stdout and flush it, so that each printed line ends an
// interval. The output does not change. Only with glibc, whose buffers can be read.
#undef _FORTIFY_SOURCE  // its inline functions would replace the definitions below
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

// Whether the buffer is empty at a flush because each print or each line is written at once.
static bool writes_at_once(FILE* stream) {
  return __fbufsize(stream) == 1 || __flbf(stream);
}

static void read_buffer(FILE* stream) {
  flockfile(stream);
  bool empty = writes_at_once(stream) || stream->_IO_write_ptr <= stream->_IO_write_base;
  lines_flush(stream->_IO_write_base,
              empty ? 0 : (size_t)(stream->_IO_write_ptr - stream->_IO_write_base));
  funlockfile(stream);
}

EXPORT int fflush(FILE* stream) {
  static int (*next)(FILE*);
  if (is_own_stdout(stream)) {
    int saved = errno;
    read_buffer(stream);
    errno = saved;
  }
  if (!next) {
    void* symbol = dlsym(RTLD_NEXT, "fflush");
    memcpy(&next, &symbol, sizeof symbol);
  }
  return next(stream);
}

// Replaces vfprintf in programs built with _FORTIFY_SOURCE; with flag 0 it is vfprintf.
int __vfprintf_chk(FILE* stream, int flag, const char* format, va_list arguments);

// Prints, and records the text if a flush cannot read it from the stream's buffer.
static int print(FILE* stream, int flag, const char* format, va_list arguments) {
  va_list copy;
  va_copy(copy, arguments);
  int length = __vfprintf_chk(stream, flag, format, arguments);
  if (length > 0 && is_own_stdout(stream) && writes_at_once(stream)) {
    char text[256];
    int saved = errno;
    if (vsnprintf(text, sizeof text, format, copy) > 0) lines_print(text, strlen(text));
    errno = saved;
  }
  va_end(copy);
  return length;
}

#define PRINT(stream, flag, format)                    \
  va_list arguments;                                   \
  va_start(arguments, format);                         \
  int length = print(stream, flag, format, arguments); \
  va_end(arguments);                                   \
  return length

#pragma GCC diagnostic ignored "-Wformat-nonliteral"  // the formats are the program's

EXPORT int printf(const char* format, ...) {
  PRINT(stdout, 0, format);
}

EXPORT int fprintf(FILE* stream, const char* format, ...) {
  PRINT(stream, 0, format);
}

// Replace printf and fprintf in programs built with _FORTIFY_SOURCE.
int __printf_chk(int flag, const char* format, ...);
int __fprintf_chk(FILE* stream, int flag, const char* format, ...);

EXPORT int __printf_chk(int flag, const char* format, ...) {
  PRINT(stdout, flag, format);
}

EXPORT int __fprintf_chk(FILE* stream, int flag, const char* format, ...) {
  PRINT(stream, flag, format);
}

#endif
