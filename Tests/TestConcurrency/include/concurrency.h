#ifndef GQLRUN_TEST_CONCURRENCY_H
#define GQLRUN_TEST_CONCURRENCY_H

/* How many tests run at a time, unless the environment says something else. */
#define GQLRUN_TESTS_AT_A_TIME "16"

#endif
