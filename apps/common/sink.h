// SPDX-License-Identifier: Apache-2.0
//
// Text in a fixed buffer, written to a file by bare system calls whenever the buffer is full.
// Allocates nothing and takes no lock, so a signal handler may use it.
#ifndef FABRICBENCH_SINK_H
#define FABRICBENCH_SINK_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct sink {
  char* text;  // zero-terminated
  size_t size, used;
  int fd;     // -1: the text stays in the buffer
  int error;  // errno of the first failed write, ENOBUFS if the text did not fit, else 0
};

struct sink sink_in(char* text, size_t size);
struct sink sink_to(int fd, char* buffer, size_t size);
void sink_char(struct sink* out, char c);
void sink_string(struct sink* out, const char* string);
void sink_bytes(struct sink* out, const char* bytes, size_t length);
void sink_number(struct sink* out, uint64_t number);
void sink_flush(struct sink* out);

#ifdef __cplusplus
}
#endif

#endif
