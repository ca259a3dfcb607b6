// SPDX-License-Identifier: Apache-2.0
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "facts.h"

void read_line(const char* path, char* text, size_t size) {
  text[0] = '\0';
  FILE* file = fopen(path, "re");
  if (!file) return;
  if (!fgets(text, (int)size, file)) text[0] = '\0';
  fclose(file);
  text[strcspn(text, "\n")] = '\0';
}

void read_key(const char* path, const char* key, char* text, size_t size) {
  char line[1024];
  text[0] = '\0';
  FILE* file = fopen(path, "re");
  if (!file) return;
  while (fgets(line, sizeof line, file)) {
    char* colon = strchr(line, ':');
    if (strncmp(line, key, strlen(key)) != 0 || !colon) continue;
    char* value = colon + 1 + strspn(colon + 1, " \t");
    value[strcspn(value, "\n")] = '\0';
    snprintf(text, size, "%s", value);
    break;
  }
  fclose(file);
}

void read_in(const char* folder, const char* name, char* text, size_t size) {
  char path[PATH_MAX];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  read_line(path, text, size);
}

double read_number(const char* folder, const char* name) {
  char text[64], *end;
  read_in(folder, name, text, sizeof text);
  double value = strtod(text, &end);
  return end == text ? (double)NAN : value;
}

void number_or_null(struct json* out, const char* key, double value) {
  char text[32] = "null";
  if (isfinite(value)) snprintf(text, sizeof text, "%.6g", value);
  json_raw(out, key, text);
}

static int not_hidden(const struct dirent* entry) {
  return entry->d_name[0] != '.';
}

void each_entry(const char* folder, void (*visit)(const char* name, void* context), void* context) {
  struct dirent** entries;
  int count = scandir(folder, &entries, not_hidden, versionsort);
  for (int i = 0; i < count; i++) {
    visit(entries[i]->d_name, context);
    free(entries[i]);
  }
  if (count >= 0) free(entries);
}
