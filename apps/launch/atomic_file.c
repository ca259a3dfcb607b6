// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "facts.h"

static bool write_all(int fd, const char* text) {
  for (size_t left = strlen(text); left > 0;) {
    ssize_t n = write(fd, text, left);
    if (n < 0 && errno != EINTR) return false;
    if (n > 0) {
      text += n;
      left -= (size_t)n;
    }
  }
  return fsync(fd) == 0 || errno == EINVAL || errno == ENOSYS;
}

bool write_atomically(const struct directory* directory, const char* name, const char* text) {
  char temporary[NAME_MAX + 1];
  snprintf(temporary, sizeof temporary, ".%.200s.%ld.tmp", name, (long)getpid());
  unlinkat(directory->fd, temporary, 0);
  int fd = openat(directory->fd, temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  bool written = fd >= 0 && write_all(fd, text);
  int error = errno;
  if (fd >= 0 && close(fd) != 0 && written) {
    written = false;
    error = errno;
  }
  if (written && renameat(directory->fd, temporary, directory->fd, name) != 0) {
    written = false;
    error = errno;
  }
  if (written) {
    fsync(directory->fd);  // the name, too, where the file system can
    return true;
  }
  if (fd >= 0) unlinkat(directory->fd, temporary, 0);
  complain("cannot write %s/%s: %s; %s", directory->path, name, strerror(error),
           error == ENOSPC || error == EDQUOT ? "free some space and launch again"
                                              : "check the directory and launch again");
  errno = error;
  return false;
}

// Length of the well-formed UTF-8 sequence at s (1 to 4), 0 when there is none (RFC 3629, section
// 4).
static size_t utf8_length(const unsigned char* s) {
  if (s[0] < 0x80) return 1;
  size_t length = 0;
  if (s[0] >= 0xC2 && s[0] <= 0xDF) length = 2;
  if (s[0] >= 0xE0 && s[0] <= 0xEF) length = 3;
  if (s[0] >= 0xF0 && s[0] <= 0xF4) length = 4;
  for (size_t i = 1; i < length; i++)
    if ((s[i] & 0xC0) != 0x80) return 0;
  bool overlong = (s[0] == 0xE0 && s[1] < 0xA0) || (s[0] == 0xF0 && s[1] < 0x90);
  bool surrogate = s[0] == 0xED && s[1] > 0x9F;
  bool too_large = s[0] == 0xF4 && s[1] > 0x8F;
  return overlong || surrogate || too_large ? 0 : length;
}

void json_string(FILE* out, const char* string) {
  fputc('"', out);
  for (const unsigned char* s = (const unsigned char*)string; *s;) {
    size_t length = utf8_length(s);
    if (length == 0)
      fputs("\\ufffd", out);
    else if (*s == '"' || *s == '\\')
      fprintf(out, "\\%c", *s);
    else if (*s < 0x20 || *s == 0x7F)
      fprintf(out, "\\u%04x", *s);
    else
      fwrite(s, 1, length, out);
    s += length ? length : 1;
  }
  fputc('"', out);
}
