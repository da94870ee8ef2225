// Answers every request with the same GraphQL response: a server that costs next to nothing, so that what a client
// costs is seen. One thread, epoll, HTTP/1.1 with keep-alive; bodies by Content-Length only. Prints its URL.
//
// With two numbers, answers with a page of a connection `rows` instead: that many rows, in pages of that size. The cursor is
// found by its form, `at-17`.
//
//   cc -O2 -o fixed_server fixed_server.c && ./fixed_server [ROWS PAGE]
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define BODY "{\"data\":{\"user\":{\"__typename\":\"User\",\"id\":\"U_1\",\"login\":\"ada\",\"name\":\"Ada\",\"followers\":12,\"role\":\"ADMIN\"}}}"

enum { CONNECTIONS = 4096, BUFFER = 65536 };

static char *buffers[CONNECTIONS];
static size_t held[CONNECTIONS];
static char answer[1024];
static size_t answer_length;
static long rows, page_size;
static char *page;

// Builds the page after the cursor in a request, with its head.
static void build_page(const char *request, size_t count) {
  const char *cursor = memmem(request, count, "\"at-", 4);
  long first = cursor ? strtol(cursor + 4, NULL, 10) : 0, end = first + page_size < rows ? first + page_size : rows;
  char *body = page + 256, *to = body;
  to += sprintf(to, "{\"data\":{\"rows\":{\"__typename\":\"RowConnection\",\"nodes\":[");
  for (long n = first; n < end; n++)
    to += sprintf(
        to, "%s{\"__typename\":\"Row\",\"id\":\"row-%ld\",\"name\":\"the name of row %ld\",\"count\":%ld,\"ratio\":%ld.25,\"isOpen\":%s,\"note\":null}",
        n > first ? "," : "", n, n, n * 7, n % 1000, n % 2 ? "true" : "false");
  to += sprintf(
      to, "],\"pageInfo\":{\"__typename\":\"PageInfo\",\"hasNextPage\":%s,\"endCursor\":\"at-%ld\"}}}}",
      end < rows ? "true" : "false", end);
  int head = sprintf(
      answer, "HTTP/1.1 200 OK\r\nContent-Type: application/graphql-response+json; charset=utf-8\r\nContent-Length: %zu\r\n\r\n",
      (size_t)(to - body));
  memcpy(body - head, answer, (size_t)head);
  answer_length = (size_t)(to - body + head);
  memmove(page, body - head, answer_length);
}

// The bytes of the first whole request in the buffer; 0 when there is none yet.
static size_t whole_request(const char *bytes, size_t count) {
  const char *end = memmem(bytes, count, "\r\n\r\n", 4);
  if (!end) return 0;
  size_t head = (size_t)(end - bytes) + 4, body = 0;
  for (const char *line = bytes; line < end;) {
    const char *next = memmem(line, (size_t)(end - line) + 2, "\r\n", 2);
    if (!strncasecmp(line, "content-length:", 15)) body = strtoul(line + 15, NULL, 10);
    line = next + 2;
  }
  return count >= head + body ? head + body : 0;
}

static void drop(int fd) {
  free(buffers[fd]);
  buffers[fd] = NULL;
  held[fd] = 0;
  close(fd);
}

static void serve(int fd) {
  ssize_t count = read(fd, buffers[fd] + held[fd], BUFFER - held[fd]);
  if (count <= 0) {
    if (count < 0 && errno == EAGAIN) return;
    return drop(fd);
  }
  held[fd] += (size_t)count;
  size_t used;
  while ((used = whole_request(buffers[fd], held[fd])) > 0) {
    if (page) build_page(buffers[fd], used);
    const char *whole = page ? page : answer;
    held[fd] -= used;
    memmove(buffers[fd], buffers[fd] + used, held[fd]);
    if (write(fd, whole, answer_length) != (ssize_t)answer_length) return drop(fd);
  }
  if (held[fd] == BUFFER) drop(fd);
}

int main(int count, char **arguments) {
  if (count == 3) {
    rows = atol(arguments[1]), page_size = atol(arguments[2]);
    page = malloc(512 + 256 * (size_t)page_size);
  }
  answer_length = (size_t)snprintf(
      answer, sizeof answer,
      "HTTP/1.1 200 OK\r\nContent-Type: application/graphql-response+json; charset=utf-8\r\nContent-Length: %zu\r\n\r\n%s",
      strlen(BODY), BODY);
  int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), on = 1;
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t size = sizeof address;
  if (bind(listener, (struct sockaddr *)&address, size) || listen(listener, 1024)) return perror("listen"), 1;
  getsockname(listener, (struct sockaddr *)&address, &size);
  printf("http://127.0.0.1:%d/graphql\n", ntohs(address.sin_port));
  fflush(stdout);
  int poll = epoll_create1(0);
  struct epoll_event event = {.events = EPOLLIN, .data.fd = listener}, events[256];
  epoll_ctl(poll, EPOLL_CTL_ADD, listener, &event);
  for (;;) {
    int ready = epoll_wait(poll, events, 256, -1);
    for (int i = 0; i < ready; i++) {
      int fd = events[i].data.fd;
      if (fd != listener) {
        serve(fd);
        continue;
      }
      // A page is larger than the buffer of a socket, so its connection waits for the client.
      while ((fd = accept4(listener, NULL, NULL, page ? 0 : SOCK_NONBLOCK)) >= 0) {
        if (fd >= CONNECTIONS || !(buffers[fd] = malloc(BUFFER))) {
          close(fd);
          continue;
        }
        held[fd] = 0;
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        event.events = EPOLLIN;
        event.data.fd = fd;
        epoll_ctl(poll, EPOLL_CTL_ADD, fd, &event);
      }
    }
  }
}
