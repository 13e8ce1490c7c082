/* NATS JetStream: an event by PUB with a reply subject, counted once the stream says under which number it is kept. A
 * connection a client. */
#include "client.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int opened;

static void nats_open(Conn *c) {
  char text[256], answer[8192];
  size_t size = 0;
  int length = sprintf(text, "CONNECT {\"verbose\":false,\"pedantic\":false,\"headers\":false}\r\nSUB bench.to.%d 1\r\nPING\r\n", opened++);
  put(c, text, (size_t)length);
  flush(c);
  do { /* INFO comes first, and PONG once it has taken the rest */
    ssize_t n = read(c->fd, answer + size, sizeof answer - 1 - size);
    if (n <= 0) die("nats closed a connection");
    answer[size += (size_t)n] = 0;
  } while (!strstr(answer, "PONG\r\n"));
}

static void nats_ask(Client *who) {
  char text[LINE + 256];
  int size = sprintf(text, "PUB bench.in.%s bench.to.%d %zu\r\n" BODY "\r\n", who->name, who->conn, sizeof BODY - 1);
  put(&conns[who->conn], text, (size_t)size);
}

static void nats_take(Conn *c) {
  Client *who = &clients[c->client];
  c->in[c->in_size] = 0;
  char *text = (char *)c->in, *end = strstr(text, "\r\n");
  if (!end) return;
  if (!strncmp(text, "PING", 4)) {
    put(c, "PONG\r\n", 6);
    size_t said = (size_t)(end + 2 - text);
    memmove(c->in, c->in + said, c->in_size -= said);
    if (c->in_size) nats_take(c);
    return;
  }
  char *length = end;
  while (length > text && length[-1] != ' ') length--;
  if (c->in_size < (size_t)(end + 2 - text) + (size_t)atoi(length) + 2) return;
  c->in_size = 0;
  if (strncmp(text, "MSG", 3) || !strstr(end, "\"seq\":")) failed(who, text);
  else turned(who, 1);
}

const Protocol nats = {nats_open, nats_ask, nats_take, 0};
