// SPDX-License-Identifier: Apache-2.0
//
// The instruction sets of the processor.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "facts.h"

// The flags of /proc/cpuinfo that name instruction sets for which compilers generate code. The same
// list is in analysis/fabricbench/site/targets.py (MACROS).
static const char* const names[] = {"abm",
                                    "avx",
                                    "avx2",
                                    "avx512_bf16",
                                    "avx512_bitalg",
                                    "avx512_fp16",
                                    "avx512_vbmi2",
                                    "avx512_vnni",
                                    "avx512_vpopcntdq",
                                    "avx512bw",
                                    "avx512cd",
                                    "avx512dq",
                                    "avx512f",
                                    "avx512ifma",
                                    "avx512vbmi",
                                    "avx512vl",
                                    "avx_vnni",
                                    "bmi1",
                                    "bmi2",
                                    "cx16",
                                    "f16c",
                                    "fma",
                                    "fma4",
                                    "lahf_lm",
                                    "movbe",
                                    "pni",
                                    "popcnt",
                                    "sse4_1",
                                    "sse4_2",
                                    "sse4a",
                                    "ssse3",
                                    "xop"};

static bool is_instruction_set(const char* word) {
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (strcmp(word, names[i]) == 0) return true;
  return false;
}

void instructions(struct json* out) {
  char* line = NULL;
  size_t size = 0;
  bool known = false;
  FILE* file = fopen("/proc/cpuinfo", "re");
  while (file && !known && getline(&line, &size, file) > 0)
    known = strncmp(line, "flags", strlen("flags")) == 0 && strchr(line, ':');
  if (known) {
    json_begin_array(out, "instructions");
    char* rest = strchr(line, ':') + 1;
    for (char* word; (word = strsep(&rest, " \t\n"));)
      if (is_instruction_set(word)) json_string(out, NULL, word);
    json_end_array(out);
  } else {
    json_null(out, "instructions");
  }
  free(line);
  if (file) fclose(file);
}
