/// Counts what the process asks of the allocator.
#ifndef GQLRUN_ALLOCATIONS_H
#define GQLRUN_ALLOCATIONS_H

/// Calls so far of malloc, calloc, realloc, memalign, aligned_alloc and posix_memalign, by whomever.
long gqlrun_allocation_count(void);

#endif
