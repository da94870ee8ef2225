// The allocator's functions, wrapped: an executable's own definitions come before the C library's, for
// the libraries it loads, too. glibc offers the functions behind them under the names used here.
#include "allocations.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *memory, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

static atomic_long calls;

static void count(void) { atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed); }

long gqlrun_allocation_count(void) { return atomic_load_explicit(&calls, memory_order_relaxed); }

__attribute__((used)) void *malloc(size_t size) {
  count();
  return __libc_malloc(size);
}

__attribute__((used)) void *calloc(size_t number, size_t size) {
  count();
  return __libc_calloc(number, size);
}

__attribute__((used)) void *realloc(void *memory, size_t size) {
  count();
  return __libc_realloc(memory, size);
}

__attribute__((used)) void *memalign(size_t alignment, size_t size) {
  count();
  return __libc_memalign(alignment, size);
}

__attribute__((used)) void *aligned_alloc(size_t alignment, size_t size) {
  count();
  return __libc_memalign(alignment, size);
}

__attribute__((used)) int posix_memalign(void **memory, size_t alignment, size_t size) {
  count();
  if (alignment < sizeof(void *) || (alignment & (alignment - 1)) != 0) return EINVAL;
  void *result = __libc_memalign(alignment, size);
  if (result == NULL) return ENOMEM;
  *memory = result;
  return 0;
}
