#include "baselines.h"

#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <yajl/yajl_parse.h>

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

double gqlrun_bare_yajl(const char *path) {
  static unsigned char buffer[256 << 10];
  double start = now();
  FILE *file = fopen(path, "rb");
  if (file == NULL) return -1;
  setvbuf(file, NULL, _IONBF, 0);
  yajl_handle handle = yajl_alloc(NULL, NULL, NULL);
  int is_good = handle != NULL;
  size_t count;
  while (is_good && (count = fread(buffer, 1, sizeof buffer, file)) > 0)
    is_good = yajl_parse(handle, buffer, count) == yajl_status_ok;
  is_good = is_good && !ferror(file) && yajl_complete_parse(handle) == yajl_status_ok;
  if (handle != NULL) yajl_free(handle);
  fclose(file);
  return is_good ? now() - start : -1;
}

struct row {
  char *key, *data;
  int key_count, data_count;
  int64_t checksum;
};

static char *copy(const void *start, int count) {
  char *result = malloc((size_t)count + 1);
  if (result != NULL && count > 0) memcpy(result, start, (size_t)count);
  return result;
}

/// Reads all records into memory. Returns how many there are, or -1.
static long load(const char *path, struct row **rows) {
  sqlite3 *db = NULL;
  sqlite3_stmt *statement = NULL;
  long count = -1, capacity = 1 << 16;
  *rows = malloc(sizeof(struct row) * (size_t)capacity);
  if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK &&
      sqlite3_prepare_v2(
          db, "SELECT key, data, checksum FROM records ORDER BY key", -1, &statement, NULL) ==
          SQLITE_OK) {
    int code;
    for (count = 0; (code = sqlite3_step(statement)) == SQLITE_ROW; count++) {
      if (count == capacity) {
        capacity *= 2;
        *rows = realloc(*rows, sizeof(struct row) * (size_t)capacity);
      }
      struct row *row = *rows + count;
      const void *key = sqlite3_column_text(statement, 0);
      row->key_count = sqlite3_column_bytes(statement, 0);
      row->key = copy(key, row->key_count);
      const void *data = sqlite3_column_text(statement, 1);
      row->data_count = sqlite3_column_bytes(statement, 1);
      row->data = copy(data, row->data_count);
      row->checksum = sqlite3_column_int64(statement, 2);
    }
    if (code != SQLITE_DONE) count = -1;
  }
  if (count < 0) fprintf(stderr, "%s: %s\n", path, sqlite3_errmsg(db));
  sqlite3_finalize(statement);
  sqlite3_close(db);
  return count;
}

static int insert(sqlite3 *db, struct row *rows, long count) {
  sqlite3_stmt *statement = NULL;
  if (sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL) != SQLITE_OK) return 0;
  if (sqlite3_prepare_v2(
          db, "INSERT INTO records (key, received, data, checksum) VALUES (?1, ?2, ?3, ?4)", -1,
          &statement, NULL) != SQLITE_OK)
    return 0;
  int is_good = 1;
  for (long i = 0; is_good && i < count; i++) {
    struct row *row = rows + i;
    sqlite3_bind_text(statement, 1, row->key, row->key_count, SQLITE_STATIC);
    sqlite3_bind_int64(statement, 2, 1750000000);
    sqlite3_bind_text(statement, 3, row->data, row->data_count, SQLITE_STATIC);
    sqlite3_bind_int64(statement, 4, row->checksum);
    is_good = sqlite3_step(statement) == SQLITE_DONE;
    sqlite3_reset(statement);
  }
  sqlite3_finalize(statement);
  return is_good && sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) == SQLITE_OK;
}

double gqlrun_insert_rows(const char *from, const char *to, long *rows) {
  struct row *loaded = NULL;
  *rows = load(from, &loaded);
  if (*rows < 0) return -1;
  sqlite3 *db = NULL;
  double seconds = -1;
  if (sqlite3_open(to, &db) == SQLITE_OK &&
      sqlite3_exec(
          db,
          "PRAGMA page_size = 16384; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;"
          "PRAGMA wal_autocheckpoint = 0; PRAGMA cache_size = -4096;"
          "CREATE TABLE records (key TEXT NOT NULL PRIMARY KEY, received INTEGER NOT NULL,"
          " data TEXT NOT NULL, checksum INTEGER NOT NULL) WITHOUT ROWID",
          NULL, NULL, NULL) == SQLITE_OK) {
    double start = now();
    if (insert(db, loaded, *rows)) seconds = now() - start;
  }
  if (seconds < 0) fprintf(stderr, "%s: %s\n", to, sqlite3_errmsg(db));
  // The process ends here: closing would move the log into the file.
  return seconds;
}
