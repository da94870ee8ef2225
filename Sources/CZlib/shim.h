#ifndef GQLRUN_CZLIB_SHIM_H
#define GQLRUN_CZLIB_SHIM_H
#include <zlib.h>

/* deflateInit2 is a macro. 15 + 16: the largest window, with a gzip header. */
static inline int gqlrun_gzip_begin(z_stream *stream, int level) {
  return deflateInit2(stream, level, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
}

/* inflateInit2 is a macro. 15 + 32: the largest window, and a gzip or zlib header. */
static inline int gqlrun_inflate_begin(z_stream *stream) { return inflateInit2(stream, 15 + 32); }
#endif
