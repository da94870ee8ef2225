/* A sigsuspend for programs under valgrind, which writes to the mask of the caller for the time of the call: that of
   libdispatch is in read-only memory. */
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

int sigsuspend(const sigset_t *mask) {
  sigset_t copy = *mask;
  return syscall(SYS_rt_sigsuspend, &copy, 8);
}
