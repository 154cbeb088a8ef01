/*
 * stap_solver.h: makes your C or C++ program a worker of `stap`. One file, no library.
 *
 *   #include "stap_solver.h"          (first, or compile with -std=gnu99 or later)
 *
 *   static int step(const double* in, double* out, const stap_step* info, void* mine) {
 *     ... fill out[0 .. info->values - 1] with the state that follows `in` after info->dt ...
 *     return 0;                         (or: return stap_fail("did not converge"); )
 *   }
 *   int main(int argc, char** argv) { return stap_serve(argc, argv, step, NULL); }
 *
 * heat.c beside this file is a whole one. States are [channel][x][y] of doubles in C order. Every
 * call begins from `in` alone: nothing may be remembered from the one before. Configuration:
 * solver: {name: worker, argv: [./heat]}. What the program prints to stdout goes to its log; it
 * must not read from stdin.
 *
 * With MPI (solver.connect: socket), or where a loop of your own is handier, rank 0 talks:
 *
 *   if (rank == 0 && stap_open("flow", &info) != 0) MPI_Abort(comm, 1);
 *   MPI_Bcast(&info, sizeof info, MPI_BYTE, 0, comm);         (no pointers in it)
 *   ... set up for info.points, allocate u and v of info.values doubles ...
 *   for (;;) {
 *     if (rank == 0) more = stap_next(&info, u);
 *     MPI_Bcast(&more, 1, MPI_INT, 0, comm);
 *     if (!more) break;
 *     MPI_Bcast(&info, sizeof info, MPI_BYTE, 0, comm);
 *     ... scatter u, make one step of info.dt, gather v ...
 *     if (rank == 0) stap_answer(v, 1);                       (or stap_failed("why", 0))
 *   }
 *   if (rank == 0) stap_close();
 *
 * May be included by several files of a program: all of them share one connection. Not
 * thread-safe: call it from one thread. The protocol is in docs/internals/worker-protocol.md.
 */
#ifndef STAP_SOLVER_H
#define STAP_SOLVER_H

#if defined(__STRICT_ANSI__) && !defined(_GNU_SOURCE)
/* -std=c89 or -std=c99: the system's sockets are hidden unless asked for. */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#ifndef _DEFAULT_SOURCE
#define _DEFAULT_SOURCE 1
#endif
#endif

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#if !defined(AI_PASSIVE) || !defined(CLOCK_MONOTONIC)
#error "include stap_solver.h before all other headers, or compile with -std=gnu99 or later"
#else

#ifndef MSG_NOSIGNAL
#define MSG_NOSIGNAL 0
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define STAP_AXES_MOST 3
#define STAP_CHANNELS_MOST 32
#define STAP_PARAMETERS_MOST 64
#define STAP_NAME_MOST 32 /* bytes of a name, with its closing 0; longer ones are cut */

/* The problem, and the step that is to be made. Plain bytes: may be broadcast as such. */
typedef struct stap_step {
  double time;                    /* of the input state */
  double dt;                      /* by which to advance it */
  size_t values;                  /* doubles of a state: channels x points */
  int step, steps;                /* this is step 0, 1, ... of so many in a row */
  int axes, channels, parameters; /* how many */
  int slot;                       /* number of this worker among those of a run */
  int points[STAP_AXES_MOST];     /* per axis; 1 for an axis that is not there */
  int reserved_;
  double lengths[STAP_AXES_MOST]; /* of the periodic domain, per axis */
  double parameter[STAP_PARAMETERS_MOST];
  char parameter_name[STAP_PARAMETERS_MOST][STAP_NAME_MOST];
  char channel_name[STAP_CHANNELS_MOST][STAP_NAME_MOST];
  char problem[STAP_NAME_MOST];
} stap_step;

/* Makes one step: fills `out`, returns 0. Anything else is a failure of this query alone, best by
 * `return stap_fail("why")`. */
typedef int (*stap_step_function)(const double* in, double* out, const stap_step* info, void* mine);

/* Answers until it is told to end; gives what main should return. `mine` is handed to `step`. */
int stap_serve(int argc, char** argv, stap_step_function step, void* mine);
/* In a step function: why it fails; give what it returns. stap_retry: the same query might work
 * another time (a licence that was taken, say). */
int stap_fail(const char* text);
int stap_retry(const char* text);
/* A parameter of the problem by its name, or `otherwise`. */
double stap_parameter(const stap_step* info, const char* name, double otherwise);

/* Before stap_serve or stap_open: promises that stap_heartbeat() is called at least so often while
 * a step is made, so that a program that hangs is noticed soon. Without it, signs are not sent. */
void stap_heartbeat_every(double seconds);
/* Cheap: sends a sign only when one is due. */
void stap_heartbeat(void);

/* The same without a function of yours. stap_open: connects and learns the problem; 0 if it did,
 * else it has said why on stderr. */
int stap_open(const char* name, stap_step* info);
/* Waits for the next step to make: 1, with its input in u; 0: end. The first call says that the
 * program is set up; stap_failed("why", 0) before it says that it cannot be. */
int stap_next(stap_step* info, double* u);
/* The state behind the step; or of several (1 .. info->steps - info->step), one behind the other.
 * 0 if it went well. */
int stap_answer(const double* states, int steps);
int stap_failed(const char* text, int retry);
void stap_close(void);

/* --- what is behind it: nothing to be used from outside ----------------------------------------*/

/* One copy for a whole program, however many of its files include this. */
#define STAP_ONCE_ __attribute__((weak))

enum {
  STAP_HELLO_ = 1,
  STAP_SETUP_,
  STAP_READY_,
  STAP_QUERY_,
  STAP_ANSWER_,
  STAP_FAILED_,
  STAP_HEARTBEAT_,
  STAP_END_
};

struct stap_connection_ {
  int opened, in, out, ready, asked;
  double heartbeat, last_sign;
  uint64_t id;
  int made, steps; /* of the query */
  stap_step info;
  unsigned char* incoming; /* payload of the last frame */
  size_t incoming_room, incoming_size;
  unsigned char* outgoing; /* header, then the states that were made */
  size_t outgoing_room;
  uint32_t tables[8][256]; /* of the checksum */
  char reason[512];
  int retry;
};

STAP_ONCE_ struct stap_connection_ stap_connection_;

uint32_t stap_checksum_(const unsigned char* bytes, size_t size);
void stap_put_(unsigned char* to, uint64_t value, int bytes);
uint64_t stap_get_(const unsigned char* from, int bytes);
void stap_put_doubles_(unsigned char* to, const double* from, size_t count);
void stap_get_doubles_(double* to, const unsigned char* from, size_t count);
unsigned char* stap_room_(unsigned char** buffer, size_t* room, size_t size);
int stap_write_(const unsigned char* from, size_t size);
int stap_read_(unsigned char* to, size_t size);
int stap_send_(int type, uint64_t id, unsigned char* frame, size_t payload);
int stap_receive_(void);
int stap_connect_(const char* where);
int stap_read_setup_(void);
int stap_read_query_(void);
int stap_complain_(const char* text, const char* more);
double stap_now_(void);

STAP_ONCE_ int stap_complain_(const char* text, const char* more) {
  fprintf(stderr, "stap_solver: %s%s\n", text, more);
  return -1;
}

STAP_ONCE_ double stap_now_(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* CRC-32C, eight bytes at a time. */
STAP_ONCE_ uint32_t stap_checksum_(const unsigned char* b, size_t size) {
  uint32_t(*t)[256] = stap_connection_.tables;
  uint32_t c, i, k;
  if (t[0][1] == 0) {
    for (i = 0; i < 256; ++i) {
      for (c = i, k = 0; k < 8; ++k) c = (c >> 1) ^ (c & 1 ? 0x82f63b78u : 0u);
      t[0][i] = c;
    }
    for (k = 1; k < 8; ++k)
      for (i = 0; i < 256; ++i) t[k][i] = (t[k - 1][i] >> 8) ^ t[0][t[k - 1][i] & 255];
  }
  for (c = 0xffffffffu; size >= 8; size -= 8, b += 8) {
    c ^= (uint32_t)stap_get_(b, 4);
    c = t[7][c & 255] ^ t[6][(c >> 8) & 255] ^ t[5][(c >> 16) & 255] ^ t[4][c >> 24] ^ t[3][b[4]] ^
        t[2][b[5]] ^ t[1][b[6]] ^ t[0][b[7]];
  }
  while (size-- > 0) c = (c >> 8) ^ t[0][(c ^ *b++) & 255];
  return ~c;
}

/* Numbers are little-endian, whatever this machine is. */
STAP_ONCE_ void stap_put_(unsigned char* to, uint64_t value, int bytes) {
  for (; bytes > 0; --bytes, value >>= 8) *to++ = (unsigned char)(value & 255);
}

STAP_ONCE_ uint64_t stap_get_(const unsigned char* from, int bytes) {
  uint64_t value = 0;
  while (bytes-- > 0) value = value << 8 | from[bytes];
  return value;
}

STAP_ONCE_ void stap_put_doubles_(unsigned char* to, const double* from, size_t count) {
  const uint16_t one = 1;
  uint64_t bits;
  if (*(const unsigned char*)&one == 1) {
    if (count > 0) memcpy(to, from, 8 * count);
    return;
  }
  for (; count > 0; --count, to += 8, ++from) {
    memcpy(&bits, from, 8);
    stap_put_(to, bits, 8);
  }
}

STAP_ONCE_ void stap_get_doubles_(double* to, const unsigned char* from, size_t count) {
  const uint16_t one = 1;
  uint64_t bits;
  if (*(const unsigned char*)&one == 1) {
    if (count > 0) memcpy(to, from, 8 * count);
    return;
  }
  for (; count > 0; --count, from += 8, ++to) {
    bits = stap_get_(from, 8);
    memcpy(to, &bits, 8);
  }
}

STAP_ONCE_ unsigned char* stap_room_(unsigned char** buffer, size_t* room, size_t size) {
  unsigned char* larger;
  if (*room >= size) return *buffer;
  larger = (unsigned char*)realloc(*buffer, size);
  if (larger == NULL) {
    stap_complain_("out of memory", "");
    return NULL;
  }
  *buffer = larger;
  *room = size;
  return larger;
}

STAP_ONCE_ int stap_write_(const unsigned char* from, size_t size) {
  while (size > 0) {
    ssize_t n = send(stap_connection_.out, from, size, MSG_NOSIGNAL);
    if (n < 0 && errno == ENOTSOCK) n = write(stap_connection_.out, from, size);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return stap_complain_("lost the connection: ", strerror(errno));
    from += n;
    size -= (size_t)n;
  }
  return 0;
}

/* 0; 1 if the stream ended before the first byte; -1. */
STAP_ONCE_ int stap_read_(unsigned char* to, size_t size) {
  size_t done = 0;
  while (done < size) {
    const ssize_t n = read(stap_connection_.in, to + done, size - done);
    if (n < 0 && errno == EINTR) continue;
    if (n == 0 && done == 0) return 1;
    if (n <= 0) return stap_complain_("lost the connection: ", n == 0 ? "it ended" : strerror(errno));
    done += (size_t)n;
  }
  return 0;
}

/* `frame` has 32 bytes of room before its payload. */
STAP_ONCE_ int stap_send_(int type, uint64_t id, unsigned char* frame, size_t payload) {
  memcpy(frame, "STAP", 4);
  stap_put_(frame + 4, 1, 2);
  stap_put_(frame + 6, (uint64_t)type, 2);
  stap_put_(frame + 8, id, 8);
  stap_put_(frame + 16, payload, 8);
  stap_put_(frame + 24, stap_checksum_(frame + 32, payload), 4);
  stap_put_(frame + 28, 0, 4);
  stap_connection_.last_sign = stap_now_();
  return stap_write_(frame, 32 + payload);
}

/* The type of the next frame, its payload in `incoming`; 0 at the end of the stream, or -1. */
STAP_ONCE_ int stap_receive_(void) {
  struct stap_connection_* c = &stap_connection_;
  unsigned char header[32];
  uint64_t size;
  const int end = stap_read_(header, sizeof header);
  if (end != 0) return end < 0 ? -1 : 0;
  if (memcmp(header, "STAP", 4) != 0 || stap_get_(header + 4, 2) != 1)
    return stap_complain_("this is no frame of protocol 1", "");
  size = stap_get_(header + 16, 8);
  if (size > (size_t)-1 / 2 || !stap_room_(&c->incoming, &c->incoming_room, (size_t)size + 1))
    return -1;
  c->incoming_size = (size_t)size;
  if (size > 0 && stap_read_(c->incoming, c->incoming_size) != 0) return -1;
  if (stap_checksum_(c->incoming, c->incoming_size) != stap_get_(header + 24, 4))
    return stap_complain_("a checksum does not fit", "");
  c->id = stap_get_(header + 8, 8);
  return (int)stap_get_(header + 6, 2);
}

STAP_ONCE_ int stap_connect_(const char* where) {
  struct stap_connection_* c = &stap_connection_;
  int s = -1, on = 1;
  if (strcmp(where, "pipe") == 0) {
    /* The streams are moved aside: what is printed from now on goes to the log, and nobody reads
     * frames by mistake. stdout's buffer is not flushed, so early words go there too. */
    int nothing = open("/dev/null", O_RDONLY);
    c->in = fcntl(0, F_DUPFD_CLOEXEC, 3);
    c->out = fcntl(1, F_DUPFD_CLOEXEC, 3);
    if (c->in < 0 || c->out < 0 || nothing < 0 || dup2(nothing, 0) < 0 || dup2(2, 1) < 0)
      return stap_complain_("cannot move stdin and stdout aside: ", strerror(errno));
    if (nothing > 2) close(nothing);
    return 0;
  }
  if (strncmp(where, "unix:", 5) == 0) {
    struct sockaddr_un name;
    memset(&name, 0, sizeof name);
    name.sun_family = AF_UNIX;
    if (strlen(where + 5) >= sizeof name.sun_path)
      return stap_complain_("the socket's path is too long: ", where);
    strcpy(name.sun_path, where + 5);
    s = socket(AF_UNIX, SOCK_STREAM, 0);
    if (s < 0 || connect(s, (const struct sockaddr*)&name, sizeof name) != 0)
      return stap_complain_("cannot connect: ", strerror(errno));
  } else if (strncmp(where, "tcp:", 4) == 0) {
    char host[256];
    const char *begin = where + 4, *end = strrchr(begin, ':');
    struct addrinfo hints, *list = NULL, *one;
    if (end == NULL || end - begin >= 256) return stap_complain_("no host and port: ", where);
    memcpy(host, begin, (size_t)(end - begin));
    host[end - begin] = 0;
    if (host[0] == '[' && host[end - begin - 1] == ']') { /* tcp:[::1]:port */
      host[end - begin - 1] = 0;
      memmove(host, host + 1, strlen(host));
    }
    memset(&hints, 0, sizeof hints);
    hints.ai_socktype = SOCK_STREAM;
    if (getaddrinfo(host, end + 1, &hints, &list) != 0)
      return stap_complain_("cannot find the host of ", where);
    for (one = list; one != NULL; one = one->ai_next) {
      s = socket(one->ai_family, one->ai_socktype, one->ai_protocol);
      if (s >= 0 && connect(s, one->ai_addr, one->ai_addrlen) == 0) break;
      if (s >= 0) close(s);
      s = -1;
    }
    freeaddrinfo(list);
    if (s < 0) return stap_complain_("cannot connect to ", where);
    setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  } else {
    return stap_complain_("STAP_CONNECT is not understood: ", where);
  }
  fcntl(s, F_SETFD, FD_CLOEXEC);
  c->in = c->out = s;
  return 0;
}

STAP_ONCE_ int stap_read_setup_(void) {
  struct stap_connection_* c = &stap_connection_;
  stap_step* info = &c->info;
  const unsigned char *p = c->incoming, *end = p + c->incoming_size;
  uint64_t axes, channels, parameters, i, size;
  memset(info, 0, sizeof *info);
  if (end - p < 24) return stap_complain_("the problem is told in too few bytes", "");
  axes = stap_get_(p, 4);
  channels = stap_get_(p + 4, 4);
  parameters = stap_get_(p + 8, 4);
  info->slot = (int)stap_get_(p + 12, 4);
  stap_get_doubles_(&info->dt, p + 16, 1);
  p += 24;
  if (axes < 1 || axes > STAP_AXES_MOST || channels < 1 || parameters > STAP_PARAMETERS_MOST)
    return stap_complain_("more axes or parameters than stap_solver.h has room for", "");
  if ((uint64_t)(end - p) < 8 * (2 * axes + parameters))
    return stap_complain_("the problem is told in too few bytes", "");
  info->axes = (int)axes;
  info->channels = (int)channels;
  info->parameters = (int)parameters;
  info->values = (size_t)channels;
  for (i = 0; i < STAP_AXES_MOST; ++i) {
    info->points[i] = i < axes ? (int)stap_get_(p + 8 * i, 8) : 1;
    info->values *= (size_t)info->points[i];
  }
  stap_get_doubles_(info->lengths, p + 8 * axes, (size_t)axes);
  stap_get_doubles_(info->parameter, p + 16 * axes, (size_t)parameters);
  p += 8 * (2 * axes + parameters);
  for (i = 0; i < 1 + channels + parameters; ++i) {
    char* to = i == 0                               ? info->problem
               : i > channels                       ? info->parameter_name[i - 1 - channels]
               : i - 1 < (uint64_t)STAP_CHANNELS_MOST ? info->channel_name[i - 1]
                                                    : NULL;
    if (end - p < 4 || (uint64_t)(end - p) - 4 < (size = stap_get_(p, 4)))
      return stap_complain_("the problem is told in too few bytes", "");
    if (to != NULL) memcpy(to, p + 4, size < STAP_NAME_MOST ? (size_t)size : STAP_NAME_MOST - 1);
    p += 4 + size;
  }
  return 0;
}

STAP_ONCE_ int stap_read_query_(void) {
  struct stap_connection_* c = &stap_connection_;
  const unsigned char* p = c->incoming;
  const size_t parameters = (size_t)c->info.parameters;
  if (c->incoming_size != 40 + 8 * (parameters + c->info.values) ||
      stap_get_(p + 24, 8) != parameters || stap_get_(p + 32, 8) != c->info.values ||
      stap_get_(p + 16, 8) < 1 || stap_get_(p + 16, 8) > 1000000000)
    return stap_complain_("a query of another size than the problem's", "");
  stap_get_doubles_(&c->info.time, p, 1);
  stap_get_doubles_(&c->info.dt, p + 8, 1);
  stap_get_doubles_(c->info.parameter, p + 40, parameters);
  c->steps = c->info.steps = (int)stap_get_(p + 16, 8);
  c->made = c->info.step = 0;
  return 0;
}

STAP_ONCE_ void stap_heartbeat_every(double seconds) {
  stap_connection_.heartbeat = seconds;
}

STAP_ONCE_ void stap_heartbeat(void) {
  struct stap_connection_* c = &stap_connection_;
  unsigned char frame[32];
  if (c->opened && c->heartbeat > 0 && stap_now_() - c->last_sign > c->heartbeat / 2)
    stap_send_(STAP_HEARTBEAT_, 0, frame, 0);
}

STAP_ONCE_ int stap_open(const char* name, stap_step* info) {
  struct stap_connection_* c = &stap_connection_;
  const char *where = getenv("STAP_CONNECT"), *token = getenv("STAP_TOKEN");
  const char* path = getenv("STAP_TOKEN_FILE");
  char secret[256] = "";
  unsigned char frame[32 + 16 + 4 + 256 + 4 + 256];
  size_t token_size, name_size;
  if (where == NULL || where[0] == 0)
    return stap_complain_(name,
                          " is a worker: stap starts it (solver: {name: worker, argv: [...]}), "
                          "and sets STAP_CONNECT");
  if (stap_connect_(where) != 0) return -1;
  if (path != NULL && path[0] != 0) {
    FILE* file = fopen(path, "r");
    if (file == NULL || fgets(secret, sizeof secret, file) == NULL)
      return stap_complain_("cannot read the token in ", path);
    fclose(file);
    secret[strcspn(secret, "\r\n")] = 0;
    token = secret;
  }
  if (token == NULL) token = "";
  token_size = strlen(token) < 256 ? strlen(token) : 256;
  name_size = strlen(name) < 256 ? strlen(name) : 256;
  stap_put_(frame + 32, 1, 4); /* protocol */
  stap_put_(frame + 36, 0, 4); /* any number of steps */
  stap_put_doubles_(frame + 40, &c->heartbeat, 1);
  stap_put_(frame + 48, token_size, 4);
  memcpy(frame + 52, token, token_size);
  stap_put_(frame + 52 + token_size, name_size, 4);
  memcpy(frame + 56 + token_size, name, name_size);
  if (stap_send_(STAP_HELLO_, 0, frame, 24 + token_size + name_size) != 0) return -1;
  if (stap_receive_() != STAP_SETUP_)
    return stap_complain_("was not told the problem (may only one rank connect?)", "");
  if (stap_read_setup_() != 0) {
    stap_failed("the problem is not understood: see the log", 0);
    return -1;
  }
  c->opened = 1;
  *info = c->info;
  return 0;
}

STAP_ONCE_ int stap_next(stap_step* info, double* u) {
  struct stap_connection_* c = &stap_connection_;
  unsigned char frame[32 + 8];
  int type;
  if (!c->opened) return 0;
  if (!c->ready) {
    c->ready = 1;
    stap_put_(frame + 32, c->info.values, 8);
    if (stap_send_(STAP_READY_, 0, frame, 8) != 0) return 0;
  }
  if (c->asked && c->made == c->info.step) stap_failed("the program gave no answer", 0);
  if (c->asked) { /* from where the last step ended */
    const unsigned char* last = c->outgoing + 48 + 8 * c->info.values * (size_t)(c->made - 1);
    c->info.time += c->info.dt * (c->made - c->info.step);
    c->info.step = c->made;
    stap_get_doubles_(u, last, c->info.values);
  } else {
    type = stap_receive_();
    if (type != STAP_QUERY_) {
      if (type > 0 && type != STAP_END_) stap_complain_("expected a query", "");
      return 0;
    }
    if (stap_read_query_() != 0) return 0;
    if (!stap_room_(&c->outgoing, &c->outgoing_room,
                    56 + 8 * c->info.values * (size_t)c->steps + sizeof c->reason))
      return 0;
    stap_get_doubles_(u, c->incoming + 40 + 8 * (size_t)c->info.parameters, c->info.values);
    c->asked = 1;
  }
  c->reason[0] = 0;
  c->retry = 0;
  *info = c->info;
  return 1;
}

STAP_ONCE_ int stap_answer(const double* states, int steps) {
  struct stap_connection_* c = &stap_connection_;
  const size_t values = c->info.values;
  if (!c->asked) return stap_complain_("an answer without a question", "");
  if (steps < 1 || steps > c->steps - c->made)
    return stap_failed("the program answered more steps than were asked, or none", 0);
  stap_put_doubles_(c->outgoing + 48 + 8 * values * (size_t)c->made, states,
                    values * (size_t)steps);
  c->made += steps;
  if (c->made < c->steps) return 0;
  c->asked = 0;
  stap_put_(c->outgoing + 32, (uint64_t)c->made, 8);
  stap_put_(c->outgoing + 40, values, 8);
  return stap_send_(STAP_ANSWER_, c->id, c->outgoing, 16 + 8 * values * (size_t)c->made);
}

STAP_ONCE_ int stap_failed(const char* text, int retry) {
  struct stap_connection_* c = &stap_connection_;
  const size_t states = c->asked ? 8 * c->info.values * (size_t)c->made : 0;
  size_t size = strlen(text);
  unsigned char* p = stap_room_(&c->outgoing, &c->outgoing_room, 60 + states + sizeof c->reason);
  if (p == NULL) return -1;
  if (size > sizeof c->reason) size = sizeof c->reason;
  memmove(p + 56, p + 48, states);
  stap_put_(p + 32, c->asked ? (uint64_t)c->made : 0, 8);
  stap_put_(p + 40, c->info.values, 8);
  stap_put_(p + 48, retry ? 1 : 0, 8);
  stap_put_(p + 56 + states, size, 4);
  memcpy(p + 60 + states, text, size);
  if (stap_send_(STAP_FAILED_, c->asked ? c->id : 0, p, 28 + states + size) != 0) return -1;
  c->asked = 0;
  return 0;
}

STAP_ONCE_ void stap_close(void) {
  struct stap_connection_* c = &stap_connection_;
  if (!c->opened) return;
  close(c->in);
  if (c->out != c->in) close(c->out);
  free(c->incoming);
  free(c->outgoing);
  memset(c, 0, sizeof *c);
}

STAP_ONCE_ int stap_fail(const char* text) {
  struct stap_connection_* c = &stap_connection_;
  c->reason[0] = 0;
  strncat(c->reason, text, sizeof c->reason - 1);
  c->retry = 0;
  return 1;
}

STAP_ONCE_ int stap_retry(const char* text) {
  stap_fail(text);
  stap_connection_.retry = 1;
  return 1;
}

STAP_ONCE_ double stap_parameter(const stap_step* info, const char* name, double otherwise) {
  int i;
  for (i = 0; i < info->parameters; ++i)
    if (strncmp(info->parameter_name[i], name, STAP_NAME_MOST - 1) == 0) return info->parameter[i];
  return otherwise;
}

STAP_ONCE_ int stap_serve(int argc, char** argv, stap_step_function step, void* mine) {
  struct stap_connection_* c = &stap_connection_;
  stap_step info;
  double *in, *out;
  const char* name = argc > 0 ? argv[0] : "the program";
  int result;
  if (strrchr(name, '/') != NULL) name = strrchr(name, '/') + 1;
  if (stap_open(name, &info) != 0) return 1;
  in = (double*)malloc(sizeof(double) * info.values);
  out = (double*)malloc(sizeof(double) * info.values);
  if (in == NULL || out == NULL) {
    stap_failed("out of memory", 0);
    return 1;
  }
  while (stap_next(&info, in)) {
    result = step(in, out, &info, mine);
    if (result != 0 && c->reason[0] == 0)
      sprintf(c->reason, "the step function returned %d", result);
    fflush(stdout);
    if (result == 0 ? stap_answer(out, 1) != 0 : stap_failed(c->reason, c->retry) != 0) break;
  }
  free(in);
  free(out);
  stap_close();
  return 0;
}

#ifdef __cplusplus
}
#endif
#endif /* what is needed is there */
#endif /* STAP_SOLVER_H */
