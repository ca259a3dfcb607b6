// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "witness.h"

struct sink sink_in(char* text, size_t size) {
  text[0] = '\0';
  return (struct sink){.text = text, .size = size, .fd = -1};
}

void sink_flush(struct sink* out) {
  size_t done = 0;
  while (out->fd >= 0 && !out->failed && done < out->used) {
    // syscall(), not write(): no cancellation point, nobody else's interposed write.
    long n = syscall(SYS_write, out->fd, out->text + done, out->used - done);
    if (n > 0)
      done += (size_t)n;
    else if (n == 0 || errno != EINTR)
      out->failed = true;
  }
  if (out->fd >= 0) out->used = 0;
}

void sink_char(struct sink* out, char c) {
  if (out->used + 1 >= out->size) sink_flush(out);
  if (out->used + 1 >= out->size) {
    out->failed = true;
    return;
  }
  out->text[out->used++] = c;
  out->text[out->used] = '\0';
}

void sink_string(struct sink* out, const char* string) {
  while (*string) sink_char(out, *string++);
}

void sink_number(struct sink* out, uint64_t number) {
  char digits[20];
  size_t n = 0;
  do digits[n++] = (char)('0' + number % 10);
  while (number /= 10);
  while (n) sink_char(out, digits[--n]);
}

// Length of the well-formed UTF-8 sequence at s (1 to 4), 0 when there is none (RFC 3629, section
// 4).
static size_t utf8_length(const unsigned char* s) {
  if (s[0] < 0x80) return 1;
  size_t length = s[0] >= 0xC2 && s[0] <= 0xDF   ? 2
                  : s[0] >= 0xE0 && s[0] <= 0xEF ? 3
                  : s[0] >= 0xF0 && s[0] <= 0xF4 ? 4
                                                 : 0;
  for (size_t i = 1; i < length; i++)
    if ((s[i] & 0xC0) != 0x80)  // a terminating zero stops here, too
      return 0;
  bool overlong = (s[0] == 0xE0 && s[1] < 0xA0) || (s[0] == 0xF0 && s[1] < 0x90);
  bool surrogate = s[0] == 0xED && s[1] > 0x9F;
  bool too_large = s[0] == 0xF4 && s[1] > 0x8F;
  return overlong || surrogate || too_large ? 0 : length;
}

void sink_json_string(struct sink* out, const char* string) {
  static const char hex[] = "0123456789abcdef";
  sink_char(out, '"');
  for (const unsigned char* s = (const unsigned char*)string; *s;) {
    size_t length = utf8_length(s);
    if (length == 0) {
      sink_string(out, "\\ufffd");
      s++;
    } else if (*s == '"' || *s == '\\') {
      sink_char(out, '\\');
      sink_char(out, (char)*s++);
    } else if (*s < 0x20 || *s == 0x7F) {
      sink_string(out, "\\u00");
      sink_char(out, hex[*s >> 4]);
      sink_char(out, hex[*s++ & 15]);
    } else {
      while (length--) sink_char(out, (char)*s++);
    }
  }
  sink_char(out, '"');
}

void sink_file_part(struct sink* out, const char* string) {
  static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
  for (; *string; string++) sink_char(out, strchr(allowed, *string) ? *string : '_');
}
