#ifndef GQLRUN_JQ_H
#define GQLRUN_JQ_H

#include <stdbool.h>
#include <stddef.h>

// Programs of jq, run by libjq.so.1, which is loaded when the first one is compiled. The program does not
// link it: see docs/decisions/0032-jq-expressions.md.

// A compiled program, with the parser of its input.
typedef struct gqlrun_jq gqlrun_jq;

enum { GQLRUN_JQ_FAILED = -1 };

// Called with a text that is valid during the call.
typedef void (*gqlrun_jq_text)(void *context, const char *text);

// Loads the library. False if it is not installed, or is not the version that is expected.
bool gqlrun_jq_load(void);

// A program, or NULL after `report` was called with each error. The library must be loaded.
gqlrun_jq *gqlrun_jq_compile(const char *program, gqlrun_jq_text report, void *context);

// Adds bytes of the input, one JSON text. False, with a call of `report`, if they are not JSON.
bool gqlrun_jq_add(gqlrun_jq *jq, const char *bytes, int count, gqlrun_jq_text report, void *context);

// Runs the program on the input: `output` gets each output as JSON text, or as it is if it is a string and
// `raw`. Stops when `output` returns false. Returns GQLRUN_JQ_FAILED, with a call of `report`, if the program
// fails; the exit code of a program that halts, with a call of `report` for its message; else zero.
int gqlrun_jq_run(
    gqlrun_jq *jq, bool raw, bool (*output)(void *context, bool is_string, const char *text, int count),
    gqlrun_jq_text report, void *context);

void gqlrun_jq_free(gqlrun_jq *jq);

#endif
