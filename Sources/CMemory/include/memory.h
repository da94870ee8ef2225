/// How the C library's allocator treats freed memory.
#ifndef GQLRUN_MEMORY_H
#define GQLRUN_MEMORY_H

/// Lets the allocator keep some megabytes of freed memory instead of returning them to the system and requesting
/// them again many times a second. For a program that does small things for a long time; without effect with
/// another C library than glibc.
void gqlrun_keep_freed_memory(void);

#endif
