#include "concurrency.h"

#include <stdlib.h>

/* Tests start servers, programs and databases; thousands at a time would find neither connections nor processor time.
 * swift-testing reads its limit from the environment, before it starts the first test. */
__attribute__((constructor)) static void limit_tests(void) {
  setenv("SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH", GQLRUN_TESTS_AT_A_TIME, 0);
}
