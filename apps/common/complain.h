// SPDX-License-Identifier: Apache-2.0
#ifndef FABRICBENCH_COMPLAIN_H
#define FABRICBENCH_COMPLAIN_H

#ifdef __cplusplus
extern "C" {
#endif

// Prints "program: text" as one line on stderr, in one write, so that the lines of several
// processes do not mix. The text says what is wrong, where, what was expected and what to do.
void complain_as(const char* program, const char* text);

// The same with the name of the running program.
__attribute__((format(printf, 1, 2))) void complain(const char* format, ...);

#ifdef __cplusplus
}
#endif

#endif
