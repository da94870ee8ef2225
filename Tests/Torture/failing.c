/* Lets one call of a program fail, as on a full or broken disk or without memory. It is preloaded.
 *
 * FAIL_CALL       name of the call in the table below: "write" is also writev, pwrite and pwrite64, and so on
 * FAIL_NUMBER     number of the call that fails, from 1, among those that have to do with files in FAIL_FOLDER
 * FAIL_ERROR      its errno; 0 lets a read or a write transfer half of its bytes
 * FAIL_FOREVER    1: the call and all later ones fail; a write that is the first one transfers half of its bytes
 * FAIL_FOLDER     absolute path without links
 * FAIL_REPORT     file to which a line with the path is appended when the call fails
 * MALLOC_LIMIT    number of allocations after which all fail
 *
 * "sqlite-malloc" are the allocations of SQLite: those of Swift and of yajl end the program.
 * The program has a `malloc` of its own, which asks for glibc's by names of its own. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

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

static const char *call, *folder, *report;
static int number, error, forever;
static atomic_int count;

static void configure(void) {
  call = getenv("FAIL_CALL");
  folder = getenv("FAIL_FOLDER");
  report = getenv("FAIL_REPORT");
  number = atoi(getenv("FAIL_NUMBER") ?: "0");
  error = atoi(getenv("FAIL_ERROR") ?: "0");
  forever = atoi(getenv("FAIL_FOREVER") ?: "0");
}

/* 0: the call is made; 1: it fails; 2: half of its bytes are transferred. */
static int verdict(const char *name, const char *path) {
  int now = atomic_fetch_add(&count, 1) + 1;
  if (now < number || (now > number && !forever)) return 0;
  if (now == number && report) {
    char line[PATH_MAX + 64];
    int length = snprintf(line, sizeof line, "%s %s\n", name, path);
    int file = (int)syscall(SYS_openat, AT_FDCWD, report, O_WRONLY | O_CREAT | O_APPEND, 0644);
    syscall(SYS_write, file, line, length);
    syscall(SYS_close, file);
  }
  errno = error;
  return error == 0 || (forever && now == number && strcmp(name, "write") == 0) ? 2 : 1;
}

static int is_in_folder(const char *path) {
  return folder && strncmp(path, folder, strlen(folder)) == 0;
}

/* A call on a descriptor. */
static int fails_at(const char *name, int descriptor) {
  char link[64], path[PATH_MAX];
  if (!call || strcmp(call, name) != 0) return 0;
  snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return 0;
  path[length] = 0;
  return is_in_folder(path) ? verdict(name, path) : 0;
}

/* A call on a path, which may be relative to the folder of a descriptor. */
static int fails(const char *name, int at, const char *path) {
  char link[64], start[PATH_MAX];
  if (!call || strcmp(call, name) != 0) return 0;
  if (path[0] == '/') return is_in_folder(path) ? verdict(name, path) : 0;
  snprintf(link, sizeof link, at == AT_FDCWD ? "/proc/self/cwd" : "/proc/self/fd/%d", at);
  ssize_t length = readlink(link, start, sizeof start - 1);
  if (length < 0) return 0;
  start[length] = 0;
  return is_in_folder(start) ? verdict(name, path) : 0;
}

#define NEXT(name)                                            \
  static __typeof__(name) *next;                              \
  if (next == NULL) next = (__typeof__(next))dlsym(RTLD_NEXT, #name)

/* A call that fails or not. */
#define CALL(name, symbol, condition, parameters, arguments) \
  int symbol parameters {                                    \
    NEXT(symbol);                                            \
    return condition == 1 ? -1 : next arguments;             \
  }

CALL("sync", fsync, fails_at("sync", fd), (int fd), (fd))
CALL("sync", fdatasync, fails_at("sync", fd), (int fd), (fd))
CALL("truncate", ftruncate, fails_at("truncate", fd), (int fd, off_t size), (fd, size))
CALL("truncate", ftruncate64, fails_at("truncate", fd), (int fd, off64_t size), (fd, size))
CALL("rename", rename, fails("rename", AT_FDCWD, to), (const char *from, const char *to), (from, to))
CALL("rename", renameat, fails("rename", b, to), (int a, const char *from, int b, const char *to), (a, from, b, to))
CALL("unlink", unlink, fails("unlink", AT_FDCWD, path), (const char *path), (path))
CALL("unlink", unlinkat, fails("unlink", at, path), (int at, const char *path, int flags), (at, path, flags))
CALL("unlink", rmdir, fails("unlink", AT_FDCWD, path), (const char *path), (path))
CALL("mkdir", mkdir, fails("mkdir", AT_FDCWD, path), (const char *path, mode_t mode), (path, mode))
CALL("link", link, fails("link", AT_FDCWD, to), (const char *from, const char *to), (from, to))
CALL("link", linkat, fails("link", b, to), (int a, const char *from, int b, const char *to, int flags), (a, from, b, to, flags))
CALL("link", symlink, fails("link", AT_FDCWD, to), (const char *from, const char *to), (from, to))
CALL("chmod", fchmod, fails_at("chmod", fd), (int fd, mode_t mode), (fd, mode))
CALL("chmod", chmod, fails("chmod", AT_FDCWD, path), (const char *path, mode_t mode), (path, mode))
CALL("open", mkstemp, fails("open", AT_FDCWD, template), (char *template), (template))

/* The descriptor is closed in any case, as by Linux. */
int close(int fd) {
  NEXT(close);
  int fail = fails_at("close", fd), result = next(fd);
  if (fail) errno = error;
  return fail == 1 ? -1 : result;
}

#define OPEN(symbol)                                                  \
  int symbol(const char *path, int flags, ...) {                      \
    NEXT(symbol);                                                     \
    va_list rest;                                                     \
    va_start(rest, flags);                                            \
    mode_t mode = va_arg(rest, mode_t);                               \
    va_end(rest);                                                     \
    return fails("open", AT_FDCWD, path) == 1 ? -1 : next(path, flags, mode); \
  }

OPEN(open)
OPEN(open64)

int openat(int at, const char *path, int flags, ...) {
  NEXT(openat);
  va_list rest;
  va_start(rest, flags);
  mode_t mode = va_arg(rest, mode_t);
  va_end(rest);
  return fails("open", at, path) == 1 ? -1 : next(at, path, flags, mode);
}

/* Only locks: the other commands do not touch the disk. */
#define LOCK(symbol)                                                                       \
  int symbol(int fd, int command, ...) {                                                   \
    NEXT(symbol);                                                                          \
    va_list rest;                                                                          \
    va_start(rest, command);                                                               \
    void *argument = va_arg(rest, void *);                                                 \
    va_end(rest);                                                                          \
    int locks = command == F_SETLK || command == F_SETLKW || command == F_OFD_SETLK || command == F_OFD_SETLKW; \
    return locks && fails_at("lock", fd) == 1 ? -1 : next(fd, command, argument);          \
  }

LOCK(fcntl)
LOCK(fcntl64)

/* A call that transfers bytes. */
#define TRANSFER(name, symbol, parameters, whole, half)                            \
  ssize_t symbol parameters {                                                      \
    NEXT(symbol);                                                                  \
    int fail = fails_at(name, fd);                                                 \
    return fail == 1 ? -1 : fail == 2 && size > 1 ? next half : next whole;        \
  }

TRANSFER("write", write, (int fd, const void *data, size_t size), (fd, data, size), (fd, data, size / 2))
TRANSFER("write", pwrite, (int fd, const void *data, size_t size, off_t at), (fd, data, size, at), (fd, data, size / 2, at))
TRANSFER("write", pwrite64, (int fd, const void *data, size_t size, off64_t at), (fd, data, size, at), (fd, data, size / 2, at))
TRANSFER("write", writev, (int fd, const struct iovec *data, int size), (fd, data, size), (fd, data, size / 2))
TRANSFER("read", read, (int fd, void *data, size_t size), (fd, data, size), (fd, data, size / 2))
TRANSFER("read", pread, (int fd, void *data, size_t size, off_t at), (fd, data, size, at), (fd, data, size / 2, at))
TRANSFER("read", pread64, (int fd, void *data, size_t size, off64_t at), (fd, data, size, at), (fd, data, size / 2, at))

/* The allocations of SQLite, which it is configured with before its first use. */
struct methods {
  void *(*allocate)(int);
  void (*release)(void *);
  void *(*resize)(void *, int);
  int (*size)(void *);
  int (*round)(int);
  int (*begin)(void *);
  void (*end)(void *);
  void *data;
};
static struct methods sqlite;

static void *sqlite_allocate(int size) {
  return verdict("sqlite-malloc", "SQLite") ? NULL : sqlite.allocate(size);
}
static void *sqlite_resize(void *old, int size) {
  return verdict("sqlite-malloc", "SQLite") ? NULL : sqlite.resize(old, size);
}

__attribute__((constructor)) static void configure_sqlite(void) {
  enum { set = 4, get = 5 };
  configure();
  int (*sqlite_configure)(int, ...) = (int (*)(int, ...))dlsym(RTLD_DEFAULT, "sqlite3_config");
  if (!call || strcmp(call, "sqlite-malloc") != 0 || !sqlite_configure) return;
  if (sqlite_configure(get, &sqlite) != 0) return;
  struct methods failing = sqlite;
  failing.allocate = sqlite_allocate;
  failing.resize = sqlite_resize;
  if (sqlite_configure(set, &failing) != 0) abort();
}
