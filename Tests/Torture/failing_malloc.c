/* Lets every allocation after the first MALLOC_LIMIT ones fail, as on a machine without memory.
 *
 * The program has a `malloc` of its own, which asks for glibc's by these names. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

static atomic_long left = -2;

/* Whether there is memory for one more. */
static int granted(void) {
  long now = atomic_load(&left);
  if (now == -2) {
    const char *limit = getenv("MALLOC_LIMIT");
    atomic_store(&left, now = limit ? atol(limit) : -1);
  }
  if (now < 0) return 1;
  if (now == 0 || atomic_fetch_sub(&left, 1) <= 1) {
    atomic_store(&left, 0);
    errno = ENOMEM;
    return 0;
  }
  return 1;
}

#define REPLACE(result, name, parameters, arguments)                                     \
  result name parameters {                                                               \
    static result(*next) parameters;                                                     \
    if (next == NULL) next = (result(*) parameters)dlsym(RTLD_NEXT, #name);              \
    return granted() ? next arguments : NULL;                                            \
  }

REPLACE(void *, __libc_malloc, (size_t size), (size))
REPLACE(void *, __libc_calloc, (size_t count, size_t size), (count, size))
REPLACE(void *, __libc_realloc, (void *old, size_t size), (old, size))
REPLACE(void *, __libc_memalign, (size_t alignment, size_t size), (alignment, size))
