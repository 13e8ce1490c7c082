/* A load generator for compare-and-swap, light enough to share two cores with what it measures: one thread, epoll,
 * each client waits for its answer and then writes over the revision it has just learned.
 *
 *   load http PORT CLIENTS CONNECTIONS SECONDS PREFIX own|hot plain|receipts KEYS_FILE
 *   load etcd PORT CLIENTS CONNECTIONS SECONDS PREFIX own|hot
 *
 * http: HTTP/1.1, PUT with If-Match, a connection a client; KEYS_FILE holds an API key a line, taken in turn.
 * etcd: gRPC over HTTP/2 (only what it needs of both), Txn(compare mod_revision, put), clients share CONNECTIONS.
 * Prints one line of JSON. What happens in the first half second is not counted. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { BUFFER = 1 << 16, RING = 4096, WINDOWS = 600, LINE = 256 };
#define WARM_US 500000ull
#define BODY "{\"a\":1,\"b\":\"hello world\"}"

typedef struct { char name[LINE], key[LINE]; int64_t revision; uint64_t began; int conn; } Client;
typedef struct { int client; int64_t revision; int answered, won; } Stream;
typedef struct {
  int fd, client;
  size_t in_size, out_size;
  uint32_t next_stream;
  int64_t window;
  Stream streams[RING];
  uint8_t in[BUFFER], out[BUFFER];
} Conn;

static Client *clients;
static Conn *conns;
static int client_count, conn_count, etcd, hot, receipts;
static uint64_t start, finish;
static uint64_t wins, losses, errors, operations, windows[WINDOWS];
static uint32_t *micros;
static size_t micros_size, micros_room;

static void die(const char *what) { fprintf(stderr, "load: %s (%s)\n", what, strerror(errno)); exit(1); }

static uint64_t now_us(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

static void flush(Conn *c) {
  size_t done = 0;
  while (done < c->out_size) {
    ssize_t n = write(c->fd, c->out + done, c->out_size - done);
    if (n > 0) done += (size_t)n;
    else if (errno != EAGAIN && errno != EINTR) die("the server closed a connection");
  }
  c->out_size = 0;
}

static void put(Conn *c, const void *bytes, size_t size) {
  if (c->out_size + size > BUFFER) flush(c);
  memcpy(c->out + c->out_size, bytes, size);
  c->out_size += size;
}

static void count(Client *who, int won) {
  uint64_t at = now_us();
  if (at < start + WARM_US || at >= finish) return;
  if (micros_size == micros_room && !(micros = realloc(micros, (micros_room = micros_room * 2 + 4096) * sizeof *micros))) die("memory");
  micros[micros_size++] = (uint32_t)(at - who->began);
  if (won) {
    wins++;
    windows[(at - start - WARM_US) / 1000000 % WINDOWS]++;
  } else losses++;
}

/* HTTP/1.1 */

static void operation_id(char *text) {
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  uint64_t ms = (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000, n = ++operations;
  uint64_t low = ((uint64_t)getpid() << 36 ^ n) & 0xffffffffffffull;
  sprintf(text, "%08x-%04x-7%03x-8%03x-%012llx", (unsigned)(ms >> 16), (unsigned)(ms & 0xffff), (unsigned)(n >> 12 & 0xfff),
          (unsigned)(n & 0xfff), (unsigned long long)low);
}

static void http_ask(Client *who) {
  Conn *c = &conns[who->conn];
  char text[1024], condition[64], id[64] = "";
  if (who->revision) sprintf(condition, "If-Match: \"%lld\"", (long long)who->revision);
  else strcpy(condition, "If-None-Match: *");
  if (receipts) { strcpy(id, "Idempotency-Key: "); operation_id(id + strlen(id)); strcat(id, "\r\n"); }
  int size = snprintf(text, sizeof text,
    "PUT /v1/state/%s HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\n"
    "%s\r\n%sContent-Length: %zu\r\n\r\n" BODY, who->name, who->key, condition, id, strlen(BODY));
  put(c, text, (size_t)size);
}

static int64_t number_after(const char *text, const char *mark) {
  const char *found = strcasestr(text, mark);
  return found ? strtoll(found + strlen(mark), NULL, 10) : 0;
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
  if (status == 200 || status == 201) who->revision = number_after(text, "\nrevision:");
  else if (status == 412) who->revision = number_after(body, "\"current_revision\":");
  else if (errors++ == 0) fprintf(stderr, "load: %.1500s\n", text);
  if (status <= 201 || status == 412) count(who, status != 412);
  who->began = now_us();
  http_ask(who);
}

/* gRPC over HTTP/2 */

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

static size_t transaction(uint8_t *to, Client *who) {
  uint8_t part[1024], whole[1024];
  size_t part_size, size = 0, name = strlen(who->name);
  part_size = number(part, 1, 0); /* EQUAL */
  part_size += number(part + part_size, 2, 2); /* MOD */
  part_size += field(part + part_size, 3, who->name, name);
  part_size += number(part + part_size, 6, (uint64_t)who->revision);
  size += field(to + size, 1, part, part_size);
  part_size = field(part, 1, who->name, name);
  part_size += field(part + part_size, 2, BODY, strlen(BODY));
  size += field(to + size, 2, whole, field(whole, 2, part, part_size));
  if (!hot) return size;
  part_size = field(part, 1, who->name, name); /* a loser reads what it lost to */
  return size + field(to + size, 3, whole, field(whole, 1, part, part_size));
}

static void frame(Conn *c, size_t size, int type, int flags, uint32_t stream, const void *payload) {
  uint8_t head[9] = {(uint8_t)(size >> 16), (uint8_t)(size >> 8), (uint8_t)size, (uint8_t)type, (uint8_t)flags};
  uint32_t id = htonl(stream);
  memcpy(head + 5, &id, 4);
  put(c, head, 9);
  if (size) put(c, payload, size);
}

static void etcd_ask(Client *who) {
  static const char fields[] = "\x83\x86\x04\x14/etcdserverpb.KV/Txn\x01\x09" "127.0.0.1\x0f\x10\x10" "application/grpc\x00\x02te\x08trailers";
  uint8_t message[2048] = {0};
  Conn *c = &conns[who->conn];
  uint32_t id = c->next_stream, size = (uint32_t)transaction(message + 5, who), length = htonl(size);
  c->next_stream += 2;
  c->streams[id / 2 % RING] = (Stream){.client = (int)(who - clients)};
  memcpy(message + 1, &length, 4);
  if ((c->window -= size + 5) < 0) die("etcd gave no window");
  frame(c, sizeof fields - 1, 1, 4, id, fields);
  frame(c, size + 5, 0, 1, id, message);
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

static void etcd_data(Stream *s, const uint8_t *message, size_t size) {
  static const int top[] = {0}, header[] = {1, 0}, kept[] = {3, 1, 2, 0};
  const uint8_t *end = message + size;
  if (size <= 5) return;
  s->answered = 1;
  s->won = (int)dig(message + 5, end, top, 2);
  s->revision = s->won ? dig(message + 5, end, header, 3) : dig(message + 5, end, kept, 3);
}

static void etcd_frame(Conn *c, int type, int flags, uint32_t id, const uint8_t *payload, size_t size) {
  Stream *s = &c->streams[id / 2 % RING];
  if (type == 0) etcd_data(s, payload, size);
  if (type == 7) die("etcd said GOAWAY");
  if (type == 8 && !id) c->window += (int64_t)(payload[0] & 127) << 24 | payload[1] << 16 | payload[2] << 8 | payload[3];
  if (type == 4 && !(flags & 1)) frame(c, 0, 4, 1, 0, NULL);
  if (type == 6 && !(flags & 1)) frame(c, 8, 6, 1, 0, payload);
  if (type != 3 && !(type <= 1 && flags & 1)) return;
  Client *who = &clients[s->client];
  if (s->answered) count(who, s->won), who->revision = s->revision;
  else errors++;
  who->began = now_us();
  etcd_ask(who);
}

static void etcd_take(Conn *c) {
  size_t at = 0;
  while (c->in_size - at >= 9) {
    const uint8_t *h = c->in + at;
    size_t size = (size_t)h[0] << 16 | (size_t)h[1] << 8 | h[2];
    uint32_t id = (uint32_t)(h[5] & 127) << 24 | (uint32_t)h[6] << 16 | (uint32_t)h[7] << 8 | h[8];
    if (c->in_size - at < 9 + size) break;
    etcd_frame(c, h[3], h[4], id, h + 9, size);
    at += 9 + size;
  }
  memmove(c->in, c->in + at, c->in_size -= at);
}

/* both */

static void open_conn(Conn *c, int port) {
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  int yes = 1;
  c->fd = socket(AF_INET, SOCK_STREAM, 0);
  if (connect(c->fd, (struct sockaddr *)&to, sizeof to)) die("nobody listens");
  setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  fcntl(c->fd, F_SETFL, O_NONBLOCK);
  c->next_stream = 1;
  c->window = 65535;
  if (!etcd) return;
  put(c, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 24);
  frame(c, 6, 4, 0, 0, "\x00\x01\x00\x00\x00\x00"); /* no table of header fields */
  frame(c, 4, 8, 0, 0, "\x3f\xff\x00\x00");         /* a window that outlasts the run */
}

static void set_up(int port, const char *prefix, const char *keys_file) {
  FILE *keys = keys_file ? fopen(keys_file, "r") : NULL;
  if (keys_file && !keys) die("no file of keys");
  clients = calloc((size_t)client_count, sizeof *clients);
  conns = calloc((size_t)conn_count, sizeof *conns);
  for (int i = 0; i < conn_count; i++) open_conn(&conns[i], port);
  for (int i = 0; i < client_count; i++) {
    Client *who = &clients[i];
    if (hot) snprintf(who->name, LINE, "%.200s", prefix);
    else snprintf(who->name, LINE, "%.200s-%d", prefix, i);
    if (keys && !fgets(who->key, LINE, keys)) rewind(keys), who->key[0] = 0;
    if (keys && !who->key[0] && !fgets(who->key, LINE, keys)) die("an empty file of keys");
    who->key[strcspn(who->key, "\n")] = 0;
    conns[who->conn = i % conn_count].client = i;
  }
}

static int ascending(const void *a, const void *b) { return (*(uint32_t *)a > *(uint32_t *)b) - (*(uint32_t *)a < *(uint32_t *)b); }

static void report(double seconds) {
  struct rusage used;
  getrusage(RUSAGE_SELF, &used);
  qsort(micros, micros_size, sizeof *micros, ascending);
  double cpu = (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) + (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
  double p50 = micros_size ? micros[micros_size / 2] / 1e3 : 0, p99 = micros_size ? micros[micros_size * 99 / 100] / 1e3 : 0;
  printf("{\"wins\":%llu,\"losses\":%llu,\"errors\":%llu,\"seconds\":%.3f,\"client_cpu_seconds\":%.3f,\"p50_ms\":%.3f,\"p99_ms\":%.3f,"
         "\"max_ms\":%.3f,\"wins_each_second\":[", (unsigned long long)wins, (unsigned long long)losses, (unsigned long long)errors,
         seconds, cpu, p50, p99, micros_size ? micros[micros_size - 1] / 1e3 : 0);
  for (int i = 0; i < (int)seconds && i < WINDOWS; i++) printf("%s%llu", i ? "," : "", (unsigned long long)windows[i]);
  printf("]}\n");
}

static void run(int poll) {
  struct epoll_event ready[512];
  while (now_us() < finish && errors < 1000) {
    int n = epoll_wait(poll, ready, 512, 100);
    for (int i = 0; i < n; i++) {
      Conn *c = &conns[ready[i].data.u32];
      ssize_t got = read(c->fd, c->in + c->in_size, BUFFER - 1 - c->in_size);
      if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) die("the server closed a connection");
      if (got > 0) c->in_size += (size_t)got, etcd ? etcd_take(c) : http_take(c);
      flush(c);
    }
  }
}

int main(int argc, char **argv) {
  if (argc < 8) return fprintf(stderr, "load: see the head of load.c\n"), 2;
  etcd = !strcmp(argv[1], "etcd"), client_count = atoi(argv[3]), hot = !strcmp(argv[7], "hot");
  conn_count = etcd ? atoi(argv[4]) : client_count;
  receipts = argc > 8 && !strcmp(argv[8], "receipts");
  double seconds = atof(argv[5]);
  if (client_count < 1 || conn_count < 1 || conn_count > client_count || seconds <= 0 || seconds > WINDOWS) die("numbers out of range");
  set_up(atoi(argv[2]), argv[6], argc > 9 ? argv[9] : NULL);
  int poll = epoll_create1(0);
  start = now_us(), finish = start + WARM_US + (uint64_t)(seconds * 1e6);
  for (int i = 0; i < conn_count; i++)
    epoll_ctl(poll, EPOLL_CTL_ADD, conns[i].fd, &(struct epoll_event){.events = EPOLLIN, .data.u32 = (uint32_t)i});
  for (int i = 0; i < client_count; i++) clients[i].began = now_us(), etcd ? etcd_ask(&clients[i]) : http_ask(&clients[i]);
  for (int i = 0; i < conn_count; i++) flush(&conns[i]);
  run(poll);
  report((double)(now_us() - start - WARM_US) / 1e6);
  return errors ? 1 : 0;
}
