// The allocator's functions, wrapped: an executable's own definitions come before the C library's, for
// the libraries it loads, too. glibc offers the functions behind them under the names used here.
#include "allocations.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#if !defined(__has_feature)
#define __has_feature(feature) 0
#endif
#if defined(__GLIBC__) && !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer) && \
    !__has_feature(memory_sanitizer)

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *memory, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

static atomic_bool counts;
static atomic_long calls;

static inline void count(void) {
  if (__builtin_expect(atomic_load_explicit(&counts, memory_order_relaxed), 0)) {
    atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed);
  }
}

void gqlrun_count_allocations(void) {
  atomic_store_explicit(&counts, 1, memory_order_relaxed);
}

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

#else

void gqlrun_count_allocations(void) {}

long gqlrun_allocation_count(void) { return -1; }

#endif
