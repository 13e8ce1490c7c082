/* What the parts of the load generator share: clients that take turns, connections, and a protocol for each server. */
#ifndef CLIENT_H
#define CLIENT_H
#include <stddef.h>
#include <stdint.h>

enum { BUFFER = 1 << 16, RING = 4096, WINDOWS = 600, LINE = 256 };
#define BODY "{\"a\":1,\"b\":\"hello world\"}"

/* A turn is one compare-and-swap, an acquire and a release, one commit, four operations one after another, an event,
 * or an effect from its plan to its outcome. */
typedef enum { OWN, HOT, LOCKS, SESSIONS, COMMITS, ALONE, EVENTS, EFFECTS } Work;

typedef struct {
  char name[LINE], key[LINE], token[32];
  int64_t *revisions, number; /* of each of its names; the fence or the lease that it holds */
  int slot, step, conn;
  uint64_t began;
} Client;

typedef struct { int client, answered, won; int64_t number; } Stream;

typedef struct {
  int fd, client;
  size_t in_size, out_size;
  uint32_t next_stream;
  int64_t window;
  Stream streams[RING];
  uint8_t in[BUFFER], out[BUFFER];
} Conn;

typedef struct {
  void (*open)(Conn *);  /* what a fresh connection says first */
  void (*ask)(Client *); /* the next request of a client's turn */
  void (*take)(Conn *);  /* reads what has come, and lets those ask on whose answers they are */
  int shared;            /* whether clients share connections */
} Protocol;

extern const Protocol http, etcd, redis, nats;
extern Client *clients;
extern Conn *conns;
extern Work work;
extern int receipts, slots;
extern uint64_t errors, operations;

void die(const char *what);
void flush(Conn *c);
void put(Conn *c, const void *bytes, size_t size);
void turned(Client *who, int won);
void failed(Client *who, const char *text);
#endif
