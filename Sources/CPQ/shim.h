#ifndef GQLRUN_CPQ_SHIM_H
#define GQLRUN_CPQ_SHIM_H

#include <dlfcn.h>
#include <postgresql/libpq-fe.h>
#include <stdbool.h>

// The program is not linked with libpq, which brings the libraries of TLS, Kerberos and LDAP: they take a program 4 ms
// to load, and not every machine has them. libpq is loaded when the first connection is opened.

#define GQLRUN_LIBPQ(use) \
  use(clear) use(connectdbParams) use(connectionNeedsPassword) use(db) use(errorMessage) use(execParams) \
  use(finish) use(getisnull) use(getlength) use(getvalue) use(host) use(ntuples) use(reset) use(resultErrorField) \
  use(resultStatus) use(setErrorVerbosity) use(setNoticeProcessor) use(status) use(transactionStatus)

// Functions of libpq, under their names without `PQ`.
struct gqlrun_libpq {
#define GQLRUN_MEMBER(name) __typeof__(&PQ##name) name;
  GQLRUN_LIBPQ(GQLRUN_MEMBER)
#undef GQLRUN_MEMBER
};

// Finds the functions; false if libpq is not installed.
static inline bool gqlrun_libpq_load(struct gqlrun_libpq *functions) {
  void *library = dlopen("libpq.so.5", RTLD_NOW | RTLD_LOCAL);
  if (!library) return false;
#define GQLRUN_FIND(name) \
  functions->name = (__typeof__(&PQ##name))dlsym(library, "PQ" #name); \
  if (!functions->name) return false;
  GQLRUN_LIBPQ(GQLRUN_FIND)
#undef GQLRUN_FIND
  return true;
}

#undef GQLRUN_LIBPQ

#endif
