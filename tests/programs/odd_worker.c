/* A worker that does what its first argument says, for the tests of worker_slot.h. */
#include "stap_solver.h"
/* A solver may use a surrogate: their names differ. */
#include "stap_model.h"

#include <signal.h>

static const char* mode = "plain";

static int is(const char* name) {
  return strcmp(mode, name) == 0;
}

static void nap(double seconds) {
  struct timespec t;
  t.tv_sec = (time_t)seconds;
  t.tv_nsec = (long)(1e9 * (seconds - (double)t.tv_sec));
  nanosleep(&t, NULL);
}

static void forever(void) {
  for (;;) pause();
}

/* The state after a step is 2 u + time + a. */
static int step(const double* in, double* out, const stap_step* info, void* mine) {
  const double a = stap_parameter(info, "a", 1000.0);
  size_t i;
  int beat;
  (void)mine;
  for (i = 0; i < info->values; ++i) out[i] = 2 * in[i] + info->time + a;
  if (is("fail")) return stap_fail("the CFL number\nis 3");
  if (is("retry")) return stap_retry("all licences are taken");
  if (is("fail-second") && info->step == 1) return stap_fail("no convergence");
  if (is("code")) return 7;
  if (is("crash")) raise(SIGABRT);
  if (is("print")) {
    printf("a step of dt %g for slot %d\n", info->dt, info->slot);
    fflush(stdout);
    if (getchar() != EOF) return stap_fail("something came from stdin");
  }
  if (is("exit")) {
    fprintf(stderr, "license server not found\n");
    exit(3);
  }
  if (is("hang")) forever();
  if (is("beat"))
    for (beat = 0; beat < 26; ++beat) {
      nap(0.05);
      stap_heartbeat();
    }
  return 0;
}

/* Answers as asked, and then something else happens to the frame. */
static int serve_oddly(void) {
  struct stap_connection_* c = &stap_connection_;
  stap_step info;
  double* u;
  unsigned char* frame;
  size_t size, i;
  if (stap_open("odd", &info) != 0) return 1;
  u = (double*)malloc(8 * info.values);
  if (u == NULL) return 1;
  while (stap_next(&info, u)) {
    if (is("half")) {
      stap_put_(c->outgoing + 32, 1, 8);
      stap_put_(c->outgoing + 40, info.values, 8);
      memset(c->outgoing + 48, 0, 8 * info.values);
      /* All but the last byte, by announcing one more than is sent. */
      memcpy(c->outgoing, "STAP\1\0\5\0", 8);
      stap_put_(c->outgoing + 8, c->id, 8);
      stap_put_(c->outgoing + 16, 16 + 8 * info.values, 8);
      stap_put_(c->outgoing + 24, 0, 8);
      stap_write_(c->outgoing, 32 + 16 + 8 * info.values - 1);
      exit(0);
    }
    if (is("other-id")) c->id += 10;
    if (is("short")) { /* as if the state had one value less */
      c->asked = 0;
      stap_put_(c->outgoing + 32, 1, 8);
      stap_put_(c->outgoing + 40, info.values - 1, 8);
      stap_send_(STAP_ANSWER_, c->id, c->outgoing, 16 + 8 * (info.values - 1));
      continue;
    }
    if (is("large")) { /* announces far more than it has */
      memcpy(c->outgoing, "STAP\1\0\5\0", 8);
      stap_put_(c->outgoing + 8, c->id, 8);
      stap_put_(c->outgoing + 16, (uint64_t)1 << 50, 8);
      stap_put_(c->outgoing + 24, 0, 8);
      stap_write_(c->outgoing, 32);
      forever();
    }
    if (is("turn")) { /* a second hello */
      stap_send_(STAP_HELLO_, 0, c->outgoing, 24);
      forever();
    }
    stap_answer(u, 1);
    frame = c->outgoing;
    size = 48 + 8 * info.values;
    if (is("twice")) stap_write_(frame, size);
    if (is("chatty")) stap_write_((const unsigned char*)"step done\n", 10);
    if (is("once")) exit(0);
    if (is("drip")) { /* the answer to a second query of one step, a byte at a time */
      if (!stap_next(&info, u)) break;
      c->asked = 0;
      stap_put_doubles_(frame + 48, u, info.values);
      c->out = open("/dev/null", O_WRONLY);
      stap_send_(STAP_ANSWER_, c->id, frame, size - 32);
      close(c->out);
      c->out = c->in;
      for (i = 0; i < size; ++i) stap_write_(frame + i, 1);
    }
    if (is("checksum")) {
      if (!stap_next(&info, u)) break;
      c->asked = 0;
      stap_put_(frame + 8, c->id, 8); /* of the answer before, with other numbers */
      stap_put_(frame + 48, 99, 1);
      stap_write_(frame, size);
    }
  }
  free(u);
  return 0;
}

/* Knocks with a wrong token, and is turned away; then comes properly. */
static int knock_first(int argc, char** argv) {
  unsigned char frame[32 + 24 + 5], byte;
  const char* where = getenv("STAP_CONNECT");
  memset(frame, 0, sizeof frame);
  if (stap_connect_(where) != 0) return 1;
  stap_put_(frame + 32, 1, 4);
  stap_put_(frame + 48, 5, 4);
  memcpy(frame + 52, "wrong", 5);
  stap_send_(STAP_HELLO_, 0, frame, 24 + 5);
  if (read(stap_connection_.in, &byte, 1) != 0) return 1; /* closed */
  close(stap_connection_.in);
  if (is("wrong-token")) forever();
  return stap_serve(argc, argv, step, NULL);
}

int main(int argc, char** argv) {
  stap_step info;
  FILE* file = fopen("pid", "w"); /* in its folder */
  if (file == NULL) return 1;
  fprintf(file, "%d", (int)getpid());
  fclose(file);
  if (argc > 1) mode = argv[1];
  if (is("print")) printf("loading tables\n"); /* not flushed: before it is connected */
  if (is("garbage")) {
    printf("loading tables\n");
    fflush(stdout);
  }
  if (is("exit-early")) {
    fprintf(stderr, "libmesh.so.4: cannot open shared object file\n");
    return 5;
  }
  if (is("never")) forever();
  if (is("deaf")) { /* to SIGTERM */
    signal(SIGTERM, SIG_IGN);
    forever();
  }
  if (is("hang")) stap_heartbeat_every(0.1);
  if (is("beat")) stap_heartbeat_every(0.5);
  if (is("grid")) {
    if (stap_open("odd", &info) != 0) return 1;
    stap_failed("can do 64 x 64 points only", 0);
    return 1;
  }
  if (is("values")) { /* thinks of another grid than ours */
    if (stap_open("odd", &info) != 0) return 1;
    stap_connection_.info.values = 7;
    stap_next(&info, NULL);
    return 1;
  }
  if (is("version")) {
    if (write(1, "STAP\2\0\1\0aaaabbbbccccddddeeeeffff", 32) != 32) return 1;
    forever();
  }
  if (is("one-step")) { /* a hello that says so */
    unsigned char hello[32 + 24] = {0};
    if (stap_connect_(getenv("STAP_CONNECT")) != 0) return 1;
    stap_put_(hello + 32, 1, 4);
    stap_put_(hello + 36, 1, 4);
    stap_send_(STAP_HELLO_, 0, hello, 24);
    forever();
  }
  if (is("knock") || is("wrong-token")) return knock_first(argc, argv);
  if (is("half") || is("other-id") || is("short") || is("large") || is("turn") || is("twice") ||
      is("chatty") || is("once") || is("drip") || is("checksum"))
    return serve_oddly();
  return stap_serve(argc, argv, step, NULL);
}
