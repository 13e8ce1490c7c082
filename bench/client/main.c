/* A load generator, light enough to share two cores with what it measures: one thread, epoll, each client waits for its
 * answer before it asks again.
 *
 *   client http|etcd|redis|nats own|hot|locks|sessions|commits|alone|events|effects PORT CLIENTS CONNECTIONS SECONDS PREFIX
 *     [SLOTS plain|receipts KEYS]
 *
 * own, hot: compare-and-swap over the revision learned last, of SLOTS names of each client's own, in turn, or of one for all.
 * locks: acquire and release a lock of each client's own; sessions: the same of etcd, under one lease that is kept.
 * commits: four operations in one; alone: the same in four requests.
 * events: into the inbox, stream or subject PREFIX, or (SLOTS above 1) into PREFIX-CLIENT-SLOT, in turn.
 * effects: plan, initiate and outcome, each turn of another effect.
 * KEYS is a file of API keys, a line each, taken in turn. CONNECTIONS matters to etcd only, whose clients share them.
 * Prints one line of JSON. What happens in the first half second is not counted. */
#define _GNU_SOURCE
#include "client.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define WARM_US 500000ull

Client *clients;
Conn *conns;
Work work;
int receipts, slots = 1;
uint64_t errors, operations;

static const Protocol *protocol;
static int client_count, conn_count;
static uint64_t start, finish, wins, losses, windows[WINDOWS];
static uint32_t *micros;
static size_t micros_size, micros_room;

void die(const char *what) { fprintf(stderr, "client: %s (%s)\n", what, strerror(errno)); exit(1); }

static uint64_t now_us(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

void flush(Conn *c) {
  size_t done = 0;
  while (done < c->out_size) {
    ssize_t n = write(c->fd, c->out + done, c->out_size - done);
    if (n > 0) done += (size_t)n;
    else if (errno != EAGAIN && errno != EINTR) die("the server closed a connection");
  }
  c->out_size = 0;
}

void put(Conn *c, const void *bytes, size_t size) {
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

static void again(Client *who) {
  who->step = 0;
  who->began = now_us();
  protocol->ask(who);
}

/* A client's turn is over, and the next one begins. */
void turned(Client *who, int won) {
  count(who, won);
  who->slot = (who->slot + 1) % slots;
  again(who);
}

/* An answer was not what it should be: the run fails, but goes on so far as to show whether all fail. */
void failed(Client *who, const char *text) {
  if (errors++ == 0) fprintf(stderr, "client: %.1500s\n", text);
  again(who);
}

static void open_conn(Conn *c, int port) {
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  int yes = 1;
  c->fd = socket(AF_INET, SOCK_STREAM, 0);
  if (connect(c->fd, (struct sockaddr *)&to, sizeof to)) die("nobody listens");
  setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  protocol->open(c);
  fcntl(c->fd, F_SETFL, O_NONBLOCK);
}

static void set_up(int port, const char *prefix, const char *keys_file) {
  FILE *keys = keys_file ? fopen(keys_file, "r") : NULL;
  if (keys_file && !keys) die("no file of keys");
  clients = calloc((size_t)client_count, sizeof *clients);
  conns = calloc((size_t)conn_count, sizeof *conns);
  for (int i = 0; i < conn_count; i++) open_conn(&conns[i], port);
  for (int i = 0; i < client_count; i++) {
    Client *who = &clients[i];
    who->revisions = calloc((size_t)slots, sizeof *who->revisions);
    if (work == HOT || (work == EVENTS && slots == 1)) snprintf(who->name, LINE, "%.200s", prefix);
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
      if (got > 0) c->in_size += (size_t)got, protocol->take(c);
      flush(c);
    }
  }
}

static int chosen(const char *text, const char *const *among, int count) {
  for (int i = 0; i < count; i++)
    if (!strcmp(text, among[i])) return i;
  die(text);
  return 0;
}

int main(int argc, char **argv) {
  static const Protocol *const protocols[] = {&http, &etcd, &redis, &nats};
  static const char *const spoken[] = {"http", "etcd", "redis", "nats"};
  static const char *const works[] = {"own", "hot", "locks", "sessions", "commits", "alone", "events", "effects"};
  if (argc < 8) return fprintf(stderr, "client: see the head of main.c\n"), 2;
  protocol = protocols[chosen(argv[1], spoken, 4)];
  work = (Work)chosen(argv[2], works, 8);
  client_count = atoi(argv[4]);
  conn_count = protocol->shared ? atoi(argv[5]) : client_count;
  double seconds = atof(argv[6]);
  if (argc > 8) slots = atoi(argv[8]);
  receipts = argc > 9 && !strcmp(argv[9], "receipts");
  if (client_count < 1 || conn_count < 1 || conn_count > client_count || slots < 1 || seconds <= 0 || seconds > WINDOWS)
    die("numbers out of range");
  set_up(atoi(argv[3]), argv[7], argc > 10 ? argv[10] : NULL);
  int poll = epoll_create1(0);
  start = now_us(), finish = start + WARM_US + (uint64_t)(seconds * 1e6);
  for (int i = 0; i < conn_count; i++)
    epoll_ctl(poll, EPOLL_CTL_ADD, conns[i].fd, &(struct epoll_event){.events = EPOLLIN, .data.u32 = (uint32_t)i});
  for (int i = 0; i < client_count; i++) again(&clients[i]);
  for (int i = 0; i < conn_count; i++) flush(&conns[i]);
  run(poll);
  report((double)(now_us() - start - WARM_US) / 1e6);
  return errors ? 1 : 0;
}
