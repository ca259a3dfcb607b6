// SPDX-License-Identifier: Apache-2.0
#include "common/sink.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

struct sink sink_in(char* text, size_t size) {
  return sink_to(-1, text, size);
}

struct sink sink_to(int fd, char* buffer, size_t size) {
  buffer[0] = '\0';
  return (struct sink){.text = buffer, .size = size, .fd = fd};
}

void sink_flush(struct sink* out) {
  size_t done = 0;
  while (out->fd >= 0 && !out->error && done < out->used) {
    // syscall(), not write(): no cancellation point, and no interposed write().
    long n = syscall(SYS_write, out->fd, out->text + done, out->used - done);
    if (n > 0)
      done += (size_t)n;
    else if (n == 0 || errno != EINTR)
      out->error = n == 0 ? EIO : errno;
  }
  if (out->fd >= 0) out->used = 0;
}

void sink_char(struct sink* out, char c) {
  if (out->used + 1 >= out->size) sink_flush(out);
  if (out->used + 1 >= out->size) {
    if (!out->error) out->error = ENOBUFS;
    return;
  }
  out->text[out->used++] = c;
  out->text[out->used] = '\0';
}

void sink_bytes(struct sink* out, const char* bytes, size_t length) {
  for (size_t i = 0; i < length; i++) sink_char(out, bytes[i]);
}

void sink_string(struct sink* out, const char* string) {
  sink_bytes(out, string, strlen(string));
}

void sink_number(struct sink* out, uint64_t number) {
  char digits[20];
  size_t n = 0;
  do digits[n++] = (char)('0' + number % 10);
  while (number /= 10);
  while (n) sink_char(out, digits[--n]);
}
