/// What the same work costs without us, in plain C.
#ifndef GQLRUN_BASELINES_H
#define GQLRUN_BASELINES_H

/// Parses a file with yajl as it comes and without callbacks. Returns the seconds it took, or -1.
double gqlrun_bare_yajl(const char *path);

/// Inserts the records of one database into a new one, in one transaction and with the settings of the
/// cache. Returns the seconds from the first row to the commit, or -1. Reading them is not counted.
double gqlrun_insert_rows(const char *from, const char *to, long *rows);

#endif
