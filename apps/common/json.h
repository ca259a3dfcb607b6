// SPDX-License-Identifier: Apache-2.0
//
// Writes a JSON text, value after value, into a sink. The writer sets commas and white space.
#ifndef FABRICBENCH_JSON_H
#define FABRICBENCH_JSON_H

#include <stdbool.h>
#include <stdint.h>

#include "common/sink.h"

#ifdef __cplusplus
extern "C" {
#endif

struct json {
  struct sink sink;
  bool comma;      // the next value needs a comma before it
  unsigned depth;  // open objects and arrays
  // Each member down to this depth is on its own line, with indentation. 0: no white space.
  unsigned lines;
};

// `key` is NULL in an array and at the top level.
void json_begin_object(struct json* out, const char* key);
void json_end_object(struct json* out);
void json_begin_array(struct json* out, const char* key);
void json_end_array(struct json* out);
void json_null(struct json* out, const char* key);
void json_bool(struct json* out, const char* key, bool value);
void json_unsigned(struct json* out, const char* key, uint64_t value);
// Bytes that are not UTF-8 become U+FFFD.
void json_string(struct json* out, const char* key, const char* value);
// Writes null for an empty string.
void json_string_or_null(struct json* out, const char* key, const char* value);
// Writes `text`, which is a JSON value, unchanged.
void json_raw(struct json* out, const char* key, const char* text);
// Starts a value that the caller writes into the sink.
void json_key(struct json* out, const char* key);

#ifdef __cplusplus
}
#endif

#endif
