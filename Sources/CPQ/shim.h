#ifndef GQLRUN_CPQ_SHIM_H
#define GQLRUN_CPQ_SHIM_H
#include <libpq-fe.h>
#endif
