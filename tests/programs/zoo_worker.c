// Workers that misbehave in bad queries (zoo.h): zoo_worker ANIMAL
#define _GNU_SOURCE
#include "stap_solver.h"

#include <math.h>

#include "zoo.h"

static const char* animal;

static int is(const char* name) {
  return strcmp(animal, name) == 0;
}

// What a bad query does before its answer, or instead of it.
static void before(double* v, const stap_step* info) {
  if (is("exits")) {
    fprintf(stderr, "licence server not found\n");
    exit(3);
  }
  if (is("segfault")) raise(SIGSEGV);
  if (is("hangs")) sleep_forever();
  if (is("hangs_deaf")) {
    for (int s = 1; s < 32; ++s) signal(s, SIG_IGN);
    sleep_forever();
  }
  if (is("nan_output")) v[info->values / 2] = (double)NAN;
  if (is("prints")) {  // as somebody does who is used to a terminal
    printf("step at time %g\n", info->time);
    fflush(stdout);
  }
  if (is("other_id")) stap_connection_.id += 7;
  if (is("garbage")) stap_write_((const unsigned char*)"Traceback (most recent call last):\n", 35);
  if (is("forks") && fork() == 0) {
    setsid();
    sleep_forever();
  }
  const pid_t warden = getppid();
  if (is("kills_warden")) {
    kill(warden, SIGKILL);
    sleep_forever();
  }
  if (is("stops_warden")) {
    kill(warden, SIGSTOP);
    sleep_forever();
  }
  if (is("keeps_stopping")) keep_stopping(warden);
  if (is("orphans_daemon")) {
    if (become_daemon()) sleep_forever();
    kill(warden, SIGKILL);
    sleep_forever();
  }
}

// What it does behind an answer.
static void after(const stap_step* info) {
  if (is("twice")) stap_write_(stap_connection_.outgoing, 48 + info->values * sizeof(double));
  if (is("dies_idle")) exit(0);
  if (is("stops_warden_idle")) kill(getppid(), SIGSTOP);
}

// `any`: which of them, its slot decides.
static void choose(int slot) {
  static const char* all[] = {"exits",          "segfault",     "hangs",        "hangs_deaf",
                              "forks",          "kills_warden", "stops_warden", "keeps_stopping",
                              "orphans_daemon", "garbage",      "dies_idle",    "stops_warden_idle"};
  if (is("any")) animal = all[(size_t)slot % (sizeof all / sizeof all[0])];
}

int main(int argc, char** argv) {
  stap_step info;
  animal = argc > 1 ? argv[1] : "";
  if (is("never_up")) sleep_forever();
  if (is("wrong_token")) setenv("STAP_TOKEN", "0123456789abcdef0123456789abcdef", 1);
  if (stap_open("zoo", &info) != 0) return 1;
  choose(info.slot);
  double* u = malloc(info.values * sizeof(double));
  double* v = malloc(info.values * sizeof(double));
  if (u == NULL || v == NULL) return 1;
  while (stap_next(&info, u)) {
    const int bad = is_bad(u, info.values);
    make_step(u, v, info.values);
    if (bad) before(v, &info);
    if (bad && is("fails"))
      stap_failed("no convergence", 0);
    else
      stap_answer(v, 1);
    if (bad) after(&info);
  }
  stap_close();
  free(u);
  free(v);
  return 0;
}
