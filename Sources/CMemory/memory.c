#include "memory.h"

#include <stdlib.h>
#if defined(__GLIBC__)
#include <malloc.h>
#endif

void gqlrun_keep_freed_memory(void) {
#if defined(__GLIBC__)
  mallopt(M_TOP_PAD, 256 << 10);
  mallopt(M_TRIM_THRESHOLD, 4 << 20);
#endif
}
