// SPDX-License-Identifier: Apache-2.0
#include "common/json.h"

#include <stddef.h>

// Length of the well-formed UTF-8 sequence at s (1 to 4), 0 if there is none (RFC 3629, section 4).
static size_t utf8_length(const unsigned char* s) {
  if (s[0] < 0x80) return 1;
  size_t length = 0;
  if (s[0] >= 0xC2 && s[0] <= 0xDF) length = 2;
  if (s[0] >= 0xE0 && s[0] <= 0xEF) length = 3;
  if (s[0] >= 0xF0 && s[0] <= 0xF4) length = 4;
  for (size_t i = 1; i < length; i++)
    if ((s[i] & 0xC0) != 0x80) return 0;  // true for the terminating zero, too
  bool overlong = (s[0] == 0xE0 && s[1] < 0xA0) || (s[0] == 0xF0 && s[1] < 0x90);
  bool surrogate = s[0] == 0xED && s[1] > 0x9F;
  bool too_large = s[0] == 0xF4 && s[1] > 0x8F;
  return overlong || surrogate || too_large ? 0 : length;
}

static void quoted(struct sink* out, const char* string) {
  static const char hex[] = "0123456789abcdef";
  sink_char(out, '"');
  for (const unsigned char* s = (const unsigned char*)string; *s;) {
    size_t length = utf8_length(s);
    if (length == 0) {
      sink_string(out, "\\ufffd");
    } else if (*s == '"' || *s == '\\') {
      sink_char(out, '\\');
      sink_char(out, (char)*s);
    } else if (*s < 0x20 || *s == 0x7F) {
      sink_string(out, "\\u00");
      sink_char(out, hex[*s >> 4]);
      sink_char(out, hex[*s & 15]);
    } else {
      sink_bytes(out, (const char*)s, length);
    }
    s += length ? length : 1;
  }
  sink_char(out, '"');
}

static void new_line(struct json* out) {
  sink_char(&out->sink, '\n');
  for (unsigned i = 0; i < out->depth; i++) sink_string(&out->sink, "  ");
}

void json_key(struct json* out, const char* key) {
  if (out->comma) sink_char(&out->sink, ',');
  if (out->depth > 0 && out->depth <= out->lines)
    new_line(out);
  else if (out->comma && out->lines)
    sink_char(&out->sink, ' ');
  out->comma = true;
  if (!key) return;
  quoted(&out->sink, key);
  sink_string(&out->sink, out->lines ? ": " : ":");
}

static void begin(struct json* out, const char* key, char bracket) {
  json_key(out, key);
  sink_char(&out->sink, bracket);
  out->comma = false;
  out->depth++;
}

static void end(struct json* out, char bracket) {
  out->depth--;
  if (out->comma && out->depth < out->lines) new_line(out);
  sink_char(&out->sink, bracket);
  out->comma = true;
}

void json_begin_object(struct json* out, const char* key) {
  begin(out, key, '{');
}

void json_end_object(struct json* out) {
  end(out, '}');
}

void json_begin_array(struct json* out, const char* key) {
  begin(out, key, '[');
}

void json_end_array(struct json* out) {
  end(out, ']');
}

void json_raw(struct json* out, const char* key, const char* text) {
  json_key(out, key);
  sink_string(&out->sink, text);
}

void json_null(struct json* out, const char* key) {
  json_raw(out, key, "null");
}

void json_bool(struct json* out, const char* key, bool value) {
  json_raw(out, key, value ? "true" : "false");
}

void json_unsigned(struct json* out, const char* key, uint64_t value) {
  json_key(out, key);
  sink_number(&out->sink, value);
}

void json_string(struct json* out, const char* key, const char* value) {
  json_key(out, key);
  quoted(&out->sink, value);
}

void json_string_or_null(struct json* out, const char* key, const char* value) {
  if (*value)
    json_string(out, key, value);
  else
    json_null(out, key);
}
