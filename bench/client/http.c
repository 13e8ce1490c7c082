/* Ours: HTTP/1.1, a connection a client. */
#define _GNU_SOURCE
#include "client.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { TEXT = 4096, PUTS = 3 }; /* a commit is so many writes of state, and a job */
#define JOB "\"type\":\"announce\",\"input\":" BODY

static void operation_id(char *text) {
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  uint64_t ms = (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000, n = ++operations;
  uint64_t low = ((uint64_t)getpid() << 36 ^ n) & 0xffffffffffffull;
  sprintf(text, "%08x-%04x-7%03x-8%03x-%012llx", (unsigned)(ms >> 16), (unsigned)(ms & 0xffff), (unsigned)(n >> 12 & 0xfff),
          (unsigned)(n & 0xfff), (unsigned long long)low);
}

static void send(Client *who, const char *method, const char *path, const char *condition, const char *body) {
  char text[TEXT + 1024], id[64] = "";
  if (receipts) { strcpy(id, "Idempotency-Key: "); operation_id(id + strlen(id)); strcat(id, "\r\n"); }
  int size = snprintf(text, sizeof text,
    "%s %s HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\n"
    "%s%sContent-Length: %zu\r\n\r\n%s", method, path, who->key, condition, id, strlen(body), body);
  put(&conns[who->conn], text, (size_t)size);
}

static void send_put(Client *who, int slot) {
  char path[LINE + 64], condition[64];
  if (slots == 1) snprintf(path, sizeof path, "/v1/state/%s", who->name);
  else snprintf(path, sizeof path, "/v1/state/%s/%d", who->name, slot);
  if (who->revisions[slot]) snprintf(condition, sizeof condition, "If-Match: \"%lld\"\r\n", (long long)who->revisions[slot]);
  else strcpy(condition, "If-None-Match: *\r\n");
  send(who, "PUT", path, condition, BODY);
}

static void send_lock(Client *who) {
  char path[LINE + 64], body[128] = "{\"owner\":\"bench\",\"ttl_seconds\":30}";
  snprintf(path, sizeof path, "/v1/locks/%s/%s", who->name, who->step ? "release" : "acquire");
  if (who->step) snprintf(body, sizeof body, "{\"fence\":%lld}", (long long)who->number);
  send(who, "POST", path, "", body);
}

static void send_commit(Client *who) {
  char body[TEXT];
  int size = sprintf(body, "{\"apply\":[");
  for (int i = 0; i < PUTS; i++) {
    size += sprintf(body + size, "{\"op\":\"state.put\",\"name\":\"%s/%d\",\"value\":" BODY, who->name, i);
    if (who->revisions[i]) size += sprintf(body + size, ",\"if_match\":%lld},", (long long)who->revisions[i]);
    else size += sprintf(body + size, ",\"if_none_match\":\"*\"},");
  }
  sprintf(body + size, "{\"op\":\"jobs.submit\"," JOB "}]}");
  send(who, "POST", "/v1/commits", "", body);
}

static void send_event(Client *who) {
  char path[LINE + 64];
  if (slots == 1) snprintf(path, sizeof path, "/v1/inboxes/%s/events", who->name);
  else snprintf(path, sizeof path, "/v1/inboxes/%s-%d/events", who->name, who->slot);
  send(who, "POST", path, "", "{\"type\":\"bench\",\"data\":" BODY "}");
}

static void send_effect(Client *who) {
  static const char *const verbs[] = {"", "/initiate", "/outcome"};
  char path[LINE * 2], body[LINE * 3] = "{}";
  if (!who->step) {
    who->number++;
    snprintf(body, sizeof body, "{\"effect_id\":\"%s-%lld\",\"kind\":\"charge\",\"target\":\"bench\",\"amount\":\"12.50\",\"currency\":\"EUR\","
      "\"request_digest\":\"sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08\"}", who->name, (long long)who->number);
    strcpy(path, "/v1/effects");
  } else snprintf(path, sizeof path, "/v1/effects/%s-%lld%s", who->name, (long long)who->number, verbs[who->step]);
  if (who->step == 2) snprintf(body, sizeof body, "{\"execution\":\"succeeded\",\"venue_ref\":\"pi_%lld\"}", (long long)who->number);
  send(who, "POST", path, "", body);
}

static void http_open(Conn *c) { (void)c; }

static void http_ask(Client *who) {
  if (work == LOCKS) send_lock(who);
  else if (work == EVENTS) send_event(who);
  else if (work == EFFECTS) send_effect(who);
  else if (work == COMMITS) send_commit(who);
  else if (work == ALONE && who->step == PUTS) send(who, "POST", "/v1/jobs", "", "{" JOB "}");
  else send_put(who, work == ALONE ? who->step : who->slot);
}

static int64_t number_after(const char *text, const char *mark) {
  const char *found = strcasestr(text, mark);
  return found ? strtoll(found + strlen(mark), NULL, 10) : 0;
}

static void go_on(Client *who, int steps) {
  if (++who->step < steps) http_ask(who);
  else turned(who, 1);
}

static void took_state(Client *who, int status, const char *text, const char *body) {
  int slot = work == ALONE ? who->step : who->slot;
  if (status <= 201) who->revisions[slot] = number_after(text, "\nrevision:");
  else if (status == 412) who->revisions[slot] = number_after(body, "\"current_revision\":");
  else { failed(who, text); return; }
  if (work == ALONE) go_on(who, PUTS + 1);
  else turned(who, status != 412);
}

static void took_commit(Client *who, const char *body) {
  const char *at = body;
  for (int i = 0; i < PUTS && (at = strstr(at, "\"op\":\"state.put\"")); i++) who->revisions[i] = number_after(++at, "\"revision\":");
  turned(who, 1);
}

static void http_take(Conn *c) {
  Client *who = &clients[c->client];
  c->in[c->in_size] = 0;
  char *text = (char *)c->in, *body = strstr(text, "\r\n\r\n");
  if (!body) return;
  size_t head = (size_t)(body - text) + 4, length = (size_t)number_after(text, "\ncontent-length:");
  if (c->in_size < head + length) return;
  int status = atoi(text + 9);
  c->in_size = 0;
  if (work != LOCKS && work != COMMITS && work != EVENTS && work != EFFECTS && !(work == ALONE && who->step == PUTS)) { took_state(who, status, text, body); return; }
  if (status >= 300) { failed(who, text); return; }
  if (work == COMMITS) { took_commit(who, body); return; }
  if (work == EVENTS) { turned(who, status == 201); return; }
  if (work == LOCKS && !who->step) who->number = number_after(body, "\"fence\":");
  go_on(who, work == LOCKS ? 2 : work == EFFECTS ? 3 : PUTS + 1);
}

const Protocol http = {http_open, http_ask, http_take, 0};
