// A bare WebSocket client: finds the frames in what it receives, and reads none. No client can be faster.
//
//     frames PORT PATH DOCUMENT
//
// Prints the number of events, and the seconds and processor seconds they took. DOCUMENT must not contain quotation marks.
#include <arpa/inet.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static unsigned char buffer[1 << 18];
static size_t start, end;
static int connection;

static void fail(const char *text) {
  fprintf(stderr, "frames: %s\n", text);
  exit(1);
}

static void more(void) {
  if (start > 0) {
    memmove(buffer, buffer + start, end - start);
    end -= start;
    start = 0;
  }
  if (end == sizeof buffer) fail("a frame is too large");
  ssize_t count = read(connection, buffer + end, sizeof buffer - end);
  if (count <= 0) fail("the connection was lost");
  end += count;
}

// The next frame; its length in `length`.
static const unsigned char *frame(size_t *length) {
  while (end - start < 2) more();
  size_t header = 2, size = buffer[start + 1] & 127;
  if (size == 127) fail("a frame is too large");
  if (size == 126) {
    while (end - start < 4) more();
    size = (size_t)buffer[start + 2] << 8 | buffer[start + 3];
    header = 4;
  }
  while (end - start < header + size) more();
  const unsigned char *payload = buffer + start + header;
  start += header + size;
  *length = size;
  return payload;
}

// A text frame with a mask of zeros.
static void put(const char *text) {
  unsigned char head[8] = {0x81};
  size_t size = strlen(text), header = 6;
  if (size < 126) {
    head[1] = 0x80 | size;
  } else {
    head[1] = 0x80 | 126, head[2] = size >> 8, head[3] = size;
    header = 8;
  }
  if (write(connection, head, header) < 0 || write(connection, text, size) < 0) fail("cannot write");
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec + time.tv_nsec / 1e9;
}

int main(int count, char **arguments) {
  if (count != 4) fail("usage: frames PORT PATH DOCUMENT");
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(atoi(arguments[1]))};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  connection = socket(AF_INET, SOCK_STREAM, 0);
  if (connect(connection, (struct sockaddr *)&address, sizeof address) != 0) fail("cannot connect");
  dprintf(connection,
      "GET %s HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
      "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
      "Sec-WebSocket-Protocol: graphql-transport-ws\r\n\r\n", arguments[2]);
  unsigned char *head;
  do more(); while (!(head = memmem(buffer, end, "\r\n\r\n", 4)));
  start = head + 4 - buffer;
  put("{\"type\":\"connection_init\"}");
  size_t length;
  frame(&length);
  char message[4096];
  snprintf(message, sizeof message, "{\"id\":\"1\",\"type\":\"subscribe\",\"payload\":{\"query\":\"%s\"}}", arguments[3]);
  double begin = now();
  clock_t used = clock();
  put(message);
  long events = 0;
  for (const unsigned char *payload; payload = frame(&length), memcmp(payload, "{\"id\":\"1\",\"type\":\"c", 19); events++) {
  }
  printf("%ld %f %f\n", events, now() - begin, (double)(clock() - used) / CLOCKS_PER_SEC);
}
