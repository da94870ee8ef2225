/// Counts what the process asks of the allocator.
#ifndef GQLRUN_ALLOCATIONS_H
#define GQLRUN_ALLOCATIONS_H

/// Begins to count; until then the allocator's functions only pass on what they are asked for.
void gqlrun_count_allocations(void);

/// Calls since then of malloc, calloc, realloc, memalign, aligned_alloc and posix_memalign, by whomever;
/// -1 where they cannot be counted: with another C library than glibc, and under a sanitizer.
long gqlrun_allocation_count(void);

#endif
