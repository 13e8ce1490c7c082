/* etcd: gRPC over HTTP/2, only what it needs of both, over connections that clients share. A write is
 * Txn(compare mod_revision, put); a lock is LeaseGrant, Txn(put with the lease, if absent), and LeaseRevoke, or
 * DeleteRange where the lease is kept for the next turn. */
#include "client.h"
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

enum { LEASE_SECONDS = 600 }; /* longer than any run: no lease needs to be kept alive */

static int locks(void) { return work == LOCKS || work == SESSIONS; }

static size_t varint(uint8_t *to, uint64_t n) {
  size_t size = 0;
  for (; n > 127; n >>= 7) to[size++] = (uint8_t)(n | 128);
  to[size++] = (uint8_t)n;
  return size;
}

static size_t field(uint8_t *to, int number, const void *bytes, size_t length) {
  size_t size = varint(to, (uint64_t)number << 3 | 2);
  size += varint(to + size, length);
  memcpy(to + size, bytes, length);
  return size + length;
}

static size_t number(uint8_t *to, int which, uint64_t n) {
  size_t size = varint(to, (uint64_t)which << 3);
  return size + varint(to + size, n);
}

enum { CREATE_REVISION = 1, MOD_REVISION = 2 }; /* what a transaction may compare, and the fields that say with what */
static const int compared_with[] = {0, 5, 6};

static size_t compare(uint8_t *to, Client *who, int target, int64_t with) {
  uint8_t part[1024];
  size_t size = number(part, 1, 0); /* EQUAL */
  size += number(part + size, 2, (uint64_t)target);
  size += field(part + size, 3, who->name, strlen(who->name));
  size += number(part + size, compared_with[target], (uint64_t)with);
  return field(to, 1, part, size);
}

static size_t put_if_equal(uint8_t *to, Client *who, const char *value, int64_t lease) {
  uint8_t part[1024], whole[1024];
  size_t size = field(part, 1, who->name, strlen(who->name));
  size += field(part + size, 2, value, strlen(value));
  if (lease) size += number(part + size, 3, (uint64_t)lease);
  return field(to, 2, whole, field(whole, 2, part, size));
}

static size_t swap(uint8_t *to, Client *who) {
  uint8_t part[1024], whole[1024];
  size_t size = compare(to, who, MOD_REVISION, *who->revisions);
  size += put_if_equal(to + size, who, BODY, 0);
  if (work != HOT) return size;
  size_t part_size = field(part, 1, who->name, strlen(who->name)); /* a loser reads what it lost to */
  return size + field(to + size, 3, whole, field(whole, 1, part, part_size));
}

static size_t put_under_lease(uint8_t *to, Client *who) {
  size_t size = compare(to, who, CREATE_REVISION, 0);
  return size + put_if_equal(to + size, who, "bench", who->number);
}

static void frame(Conn *c, size_t size, int type, int flags, uint32_t stream, const void *payload) {
  uint8_t head[9] = {(uint8_t)(size >> 16), (uint8_t)(size >> 8), (uint8_t)size, (uint8_t)type, (uint8_t)flags};
  uint32_t id = htonl(stream);
  memcpy(head + 5, &id, 4);
  put(c, head, 9);
  if (size) put(c, payload, size);
}

static void call(Client *who, const char *path, uint8_t *message, size_t message_size) {
  char fields[128];
  int fields_size = sprintf(fields, "\x83\x86\x04%c%s\x01\x09" "127.0.0.1\x0f\x10\x10" "application/grpc", (int)strlen(path), path);
  memcpy(fields + fields_size, "\x00\x02te\x08trailers", 13);
  Conn *c = &conns[who->conn];
  uint32_t id = c->next_stream, size = (uint32_t)message_size, length = htonl(size);
  c->next_stream += 2;
  c->streams[id / 2 % RING] = (Stream){.client = (int)(who - clients)};
  message[0] = 0;
  memcpy(message + 1, &length, 4);
  if ((c->window -= size + 5) < 0) die("etcd gave no window");
  frame(c, (size_t)fields_size + 13, 1, 4, id, fields);
  frame(c, size + 5, 0, 1, id, message);
}

static void etcd_ask(Client *who) {
  static const char txn[] = "/etcdserverpb.KV/Txn", delete[] = "/etcdserverpb.KV/DeleteRange",
                    grant[] = "/etcdserverpb.Lease/LeaseGrant", revoke[] = "/etcdserverpb.Lease/LeaseRevoke";
  uint8_t message[2048];
  if (work == SESSIONS && who->step == 0 && who->number) who->step = 1;
  if (!locks()) call(who, txn, message, swap(message + 5, who));
  else if (who->step == 0) call(who, grant, message, number(message + 5, 1, LEASE_SECONDS));
  else if (who->step == 1) call(who, txn, message, put_under_lease(message + 5, who));
  else if (work == SESSIONS) call(who, delete, message, field(message + 5, 1, who->name, strlen(who->name)));
  else call(who, revoke, message, number(message + 5, 1, (uint64_t)who->number));
}

static uint64_t read_varint(const uint8_t **at) {
  uint64_t n = 0;
  for (int shift = 0;; shift += 7) {
    n |= (uint64_t)(**at & 127) << shift;
    if (*(*at)++ < 128) return n;
  }
}

/* Finds the first varint field `which` of a message; messages inside are entered along `path`, which ends with 0. */
static int64_t dig(const uint8_t *at, const uint8_t *end, const int *path, int which) {
  while (at < end) {
    uint64_t tag = read_varint(&at), value = (tag & 7) == 2 || (tag & 7) == 0 ? read_varint(&at) : 0;
    if ((tag & 7) == 0 && !*path && (int)(tag >> 3) == which) return (int64_t)value;
    if ((tag & 7) != 2) continue;
    if (*path && (int)(tag >> 3) == *path) return dig(at, at + value, path + 1, which);
    at += value;
  }
  return 0;
}

static void read_message(Stream *s, const uint8_t *message, size_t size) {
  static const int top[] = {0}, header[] = {1, 0}, kept[] = {3, 1, 2, 0};
  const uint8_t *at = message + 5, *end = message + size;
  int step = clients[s->client].step;
  if (size <= 5) return;
  s->answered = 1;
  s->number = dig(at, end, top, 2); /* whether a transaction won, or the lease */
  s->won = (locks() && step == 2) || s->number != 0;
  if (!locks()) s->number = s->won ? dig(at, end, header, 3) : dig(at, end, kept, 3);
}

static void answered(Stream *s) {
  Client *who = &clients[s->client];
  if (!s->answered || (locks() && !s->won)) failed(who, "an answer of etcd is not what it should be");
  else if (!locks()) *who->revisions = s->number, turned(who, s->won);
  else if (who->step == 2) turned(who, 1);
  else {
    if (who->step == 0) who->number = s->number;
    who->step++;
    etcd_ask(who);
  }
}

static void read_frame(Conn *c, int type, int flags, uint32_t id, const uint8_t *payload, size_t size) {
  Stream *s = &c->streams[id / 2 % RING];
  if (type == 0) read_message(s, payload, size);
  if (type == 7) die("etcd said GOAWAY");
  if (type == 8 && !id) c->window += (int64_t)(payload[0] & 127) << 24 | payload[1] << 16 | payload[2] << 8 | payload[3];
  if (type == 4 && !(flags & 1)) frame(c, 0, 4, 1, 0, NULL);
  if (type == 6 && !(flags & 1)) frame(c, 8, 6, 1, 0, payload);
  if (type == 3 || (type <= 1 && flags & 1)) answered(s);
}

static void etcd_take(Conn *c) {
  size_t at = 0;
  while (c->in_size - at >= 9) {
    const uint8_t *h = c->in + at;
    size_t size = (size_t)h[0] << 16 | (size_t)h[1] << 8 | h[2];
    uint32_t id = (uint32_t)(h[5] & 127) << 24 | (uint32_t)h[6] << 16 | (uint32_t)h[7] << 8 | h[8];
    if (c->in_size - at < 9 + size) break;
    read_frame(c, h[3], h[4], id, h + 9, size);
    at += 9 + size;
  }
  memmove(c->in, c->in + at, c->in_size -= at);
}

static void etcd_open(Conn *c) {
  c->next_stream = 1;
  c->window = 65535;
  put(c, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 24);
  frame(c, 6, 4, 0, 0, "\x00\x01\x00\x00\x00\x00"); /* no table of header fields */
  frame(c, 4, 8, 0, 0, "\x3f\xff\x00\x00");         /* a window that outlasts the run */
}

const Protocol etcd = {etcd_open, etcd_ask, etcd_take, 1};
