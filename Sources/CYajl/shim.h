/// What Swift needs of Debian's libyajl (2.1.0): the public header, and what Swift cannot say itself.
#ifndef GQLRUN_CYAJL_SHIM_H
#define GQLRUN_CYAJL_SHIM_H

#include <yajl/yajl_parse.h>

/// Turns a boolean option of a parser on. `yajl_config` is variadic, which Swift does not import.
static inline int gqlrun_yajl_enable(yajl_handle handle, yajl_option option) {
  return yajl_config(handle, option, 1);
}

#endif
