/* Redis: a lock by SET NX PX, and released by the script that deletes it if it is still one's own; an event by XADD. A
 * connection a client. */
#include "client.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SCRIPT "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end"
enum { DIGEST = 40 };
static char digest[DIGEST + 1];

static void command(Conn *c, int count, const char *const *words) {
  char text[1024];
  int size = sprintf(text, "*%d\r\n", count);
  for (int i = 0; i < count; i++) size += sprintf(text + size, "$%zu\r\n%s\r\n", strlen(words[i]), words[i]);
  put(c, text, (size_t)size);
}

static void redis_open(Conn *c) {
  char answer[64];
  size_t size = 0;
  if (*digest) return;
  command(c, 3, (const char *const[]){"SCRIPT", "LOAD", SCRIPT});
  flush(c);
  while (size < 5 + DIGEST + 2) {
    ssize_t n = read(c->fd, answer + size, sizeof answer - size);
    if (n <= 0) die("redis closed a connection");
    size += (size_t)n;
  }
  if (memcmp(answer, "$40\r\n", 5)) die("redis takes no script");
  memcpy(digest, answer + 5, DIGEST);
}

static void redis_ask(Client *who) {
  Conn *c = &conns[who->conn];
  if (work == EVENTS) {
    command(c, 5, (const char *const[]){"XADD", who->name, "*", "data", BODY});
    return;
  }
  if (who->step) {
    command(c, 5, (const char *const[]){"EVALSHA", digest, "1", who->name, who->token});
    return;
  }
  sprintf(who->token, "%016llx", (unsigned long long)++operations);
  command(c, 6, (const char *const[]){"SET", who->name, who->token, "NX", "PX", "30000"});
}

static void redis_take(Conn *c) {
  Client *who = &clients[c->client];
  c->in[c->in_size] = 0;
  if (!strstr((char *)c->in, "\r\n")) return;
  c->in_size = 0;
  if (work == EVENTS) {
    if (c->in[0] == '$') turned(who, 1);
    else failed(who, (char *)c->in);
  } else if (strncmp((char *)c->in, who->step ? ":1\r\n" : "+OK\r\n", who->step ? 4 : 5)) failed(who, (char *)c->in);
  else if (who->step) turned(who, 1);
  else who->step++, redis_ask(who);
}

const Protocol redis = {redis_open, redis_ask, redis_take, 0};
