#include "gqlrun_jq.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

// The interface of libjq.so.1, from jv.h and jq.h of jq 1.6 and 1.7; values are passed by value.
typedef struct {
  unsigned char kind_flags;
  unsigned char pad_;
  unsigned short offset;
  int size;
  union {
    void *ptr;
    double number;
  } u;
} jv;

enum { KIND_INVALID = 0, KIND_NUMBER = 4, KIND_STRING = 5 };

static struct {
  void *(*init)(void);
  void (*set_error_cb)(void *, void (*)(void *, jv), void *);
  void (*set_debug_cb)(void *, void (*)(void *, jv), void *);
  void (*set_input_cb)(void *, jv (*)(void *, void *), void *);
  int (*compile)(void *, const char *);
  void (*start)(void *, jv, int);
  jv (*next)(void *);
  void (*teardown)(void **);
  void *(*parser_new)(int);
  void (*parser_set_buf)(void *, const char *, int, int);
  jv (*parser_next)(void *);
  void (*parser_free)(void *);
  int (*kind)(jv);
  jv (*copy)(jv);
  void (*free)(jv);
  int (*has_message)(jv);
  jv (*message)(jv);
  jv (*dump)(jv, int);
  jv (*null)(void);
  jv (*array)(void);
  jv (*string_of)(const char *);
  void (*set_attr)(void *, jv, jv);
  int (*halted)(void *);
  jv (*exit_code)(void *);
  jv (*error_message)(void *);
  double (*number)(jv);
  const char *(*string)(jv);
  int (*length)(jv);
} lib;

struct gqlrun_jq {
  void *jq;
  void *parser;
  jv input;
  bool has_input;
};

bool gqlrun_jq_load(void) {
  static void *library = NULL;
  if (library) return true;
  void *opened = dlopen("libjq.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!opened) return false;
  const struct {
    void **function;
    const char *name;
  } functions[] = {
      {(void **)&lib.init, "jq_init"},
      {(void **)&lib.set_error_cb, "jq_set_error_cb"},
      {(void **)&lib.set_debug_cb, "jq_set_debug_cb"},
      {(void **)&lib.set_input_cb, "jq_set_input_cb"},
      {(void **)&lib.compile, "jq_compile"},
      {(void **)&lib.start, "jq_start"},
      {(void **)&lib.next, "jq_next"},
      {(void **)&lib.teardown, "jq_teardown"},
      {(void **)&lib.parser_new, "jv_parser_new"},
      {(void **)&lib.parser_set_buf, "jv_parser_set_buf"},
      {(void **)&lib.parser_next, "jv_parser_next"},
      {(void **)&lib.parser_free, "jv_parser_free"},
      {(void **)&lib.kind, "jv_get_kind"},
      {(void **)&lib.copy, "jv_copy"},
      {(void **)&lib.free, "jv_free"},
      {(void **)&lib.has_message, "jv_invalid_has_msg"},
      {(void **)&lib.message, "jv_invalid_get_msg"},
      {(void **)&lib.dump, "jv_dump_string"},
      {(void **)&lib.null, "jv_null"},
      {(void **)&lib.array, "jv_array"},
      {(void **)&lib.string_of, "jv_string"},
      {(void **)&lib.set_attr, "jq_set_attr"},
      {(void **)&lib.halted, "jq_halted"},
      {(void **)&lib.exit_code, "jq_get_exit_code"},
      {(void **)&lib.error_message, "jq_get_error_message"},
      {(void **)&lib.number, "jv_number_value"},
      {(void **)&lib.string, "jv_string_value"},
      {(void **)&lib.length, "jv_string_length_bytes"},
  };
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
    *functions[i].function = dlsym(opened, functions[i].name);
    if (!*functions[i].function) {
      dlclose(opened);
      return false;
    }
  }
  library = opened;
  return true;
}

typedef struct {
  gqlrun_jq_text report;
  void *context;
} reporter;

// Reports a value that is a text, or else its JSON, and releases it.
static void report_value(jv value, gqlrun_jq_text report, void *context) {
  if (lib.kind(value) != KIND_STRING) value = lib.dump(value, 0);
  report(context, lib.string(value));
  lib.free(value);
}

static void on_error(void *context, jv message) {
  reporter *to = context;
  report_value(message, to->report, to->context);
}

// Prints the value of `debug` on standard error, in the array that jq prints.
static void on_debug(void *context, jv message) {
  (void)context;
  message = lib.dump(message, 0);
  fprintf(stderr, "[\"DEBUG:\",%s]\n", lib.string(message));
  lib.free(message);
}

gqlrun_jq *gqlrun_jq_compile(const char *program, gqlrun_jq_text report, void *context) {
  gqlrun_jq *jq = calloc(1, sizeof *jq);
  if (!jq) return NULL;
  reporter to = {report, context};
  jq->jq = lib.init();
  jq->parser = lib.parser_new(0);
  // jq 1.6 does not initialize them, and `debug` and `input` call what is there.
  lib.set_debug_cb(jq->jq, on_debug, NULL);
  lib.set_input_cb(jq->jq, NULL, NULL);
  lib.set_error_cb(jq->jq, on_error, &to);
  // Without them, `include` and `import` abort the process. No folder has modules.
  lib.set_attr(jq->jq, lib.string_of("JQ_LIBRARY_PATH"), lib.array());
  lib.set_attr(jq->jq, lib.string_of("JQ_ORIGIN"), lib.string_of("."));
  lib.set_attr(jq->jq, lib.string_of("PROGRAM_ORIGIN"), lib.string_of("."));
  int compiled = lib.compile(jq->jq, program);
  // `to` ends with this function.
  lib.set_error_cb(jq->jq, NULL, NULL);
  if (compiled) return jq;
  gqlrun_jq_free(jq);
  return NULL;
}

bool gqlrun_jq_add(
    gqlrun_jq *jq, const char *bytes, int count, gqlrun_jq_text report, void *context) {
  lib.parser_set_buf(jq->parser, bytes, count, 1);
  while (true) {
    jv value = lib.parser_next(jq->parser);
    if (lib.kind(value) != KIND_INVALID) {
      if (jq->has_input) lib.free(jq->input);
      jq->input = value;
      jq->has_input = true;
      continue;
    }
    // An invalid value without a message is the end of the bytes.
    if (!lib.has_message(lib.copy(value))) {
      lib.free(value);
      return true;
    }
    report_value(lib.message(value), report, context);
    return false;
  }
}

// The exit code of a program that has halted, whose message is reported.
static int halt_code(gqlrun_jq *jq, gqlrun_jq_text report, void *context) {
  jv code = lib.exit_code(jq->jq);
  jv message = lib.error_message(jq->jq);
  // `halt` has neither; jq exits with 5 for a code that is no number.
  int result = lib.kind(code) == KIND_INVALID ? 0 : lib.kind(code) == KIND_NUMBER ? lib.number(code) : 5;
  lib.free(code);
  if (lib.kind(message) == KIND_INVALID) {
    lib.free(message);
  } else {
    report_value(message, report, context);
  }
  return result & 0xff;
}

int gqlrun_jq_run(
    gqlrun_jq *jq, bool raw, bool (*output)(void *, bool, const char *, int), gqlrun_jq_text report,
    void *context) {
  lib.start(jq->jq, jq->has_input ? jq->input : lib.null(), 0);
  jq->has_input = false;
  while (true) {
    jv value = lib.next(jq->jq);
    if (lib.kind(value) == KIND_INVALID) {
      bool failed = lib.has_message(lib.copy(value));
      if (failed) {
        report_value(lib.message(value), report, context);
      } else {
        lib.free(value);
      }
      if (!failed && lib.halted(jq->jq)) return halt_code(jq, report, context);
      return failed ? GQLRUN_JQ_FAILED : 0;
    }
    bool is_text = raw && lib.kind(value) == KIND_STRING;
    if (!is_text) value = lib.dump(value, 0);
    bool goes_on = output(context, is_text, lib.string(value), lib.length(lib.copy(value)));
    lib.free(value);
    if (!goes_on) return 0;
  }
}

void gqlrun_jq_free(gqlrun_jq *jq) {
  if (jq->has_input) lib.free(jq->input);
  lib.parser_free(jq->parser);
  lib.teardown(&jq->jq);
  free(jq);
}
