// What the solvers of the zoo have in common: a harmless step, and a rule for which queries are
// bad that the state alone decides, about a third of them. ZOO_BAD=always|never decides otherwise.
//
//   ZOO_LOG    a file that gets a line for every query: "good" or "bad", and the state's bytes
//   ZOO_NOTES  a folder where animals with a memory keep it
//   ZOO_NAP    milliseconds that a good query takes
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void fail(const char* what) {
  fprintf(stderr, "zoo: %s: %s\n", what, strerror(errno));
  exit(99);
}

static void nap(long milliseconds) {
  struct timespec left = {milliseconds / 1000, milliseconds % 1000 * 1000000};
  while (nanosleep(&left, &left) != 0 && errno == EINTR) {
  }
}

static void sleep_forever(void) {
  for (;;) nap(1000);
}

// Goes on in a process that has left session and parents; the others return 0.
static int become_daemon(void) {
  const pid_t child = fork();
  if (child < 0) fail("fork");
  if (child > 0) {
    waitpid(child, NULL, 0);
    return 0;
  }
  setsid();
  if (fork() != 0) _exit(0);
  return 1;
}

// Deaf, and keeps who would end it from doing anything.
static void keep_stopping(pid_t warden) {
  for (int s = 1; s < 32; ++s) signal(s, SIG_IGN);
  while (kill(warden, SIGSTOP) == 0) {
  }
  sleep_forever();
}

// FNV-1a.
static uint64_t hash_of(const double* state, size_t values) {
  uint64_t hash = 14695981039346656037u;
  for (size_t i = 0; i < values * sizeof(double); ++i)
    hash = (hash ^ ((const unsigned char*)state)[i]) * 1099511628211u;
  return hash;
}

// u -> 0.5 u + 0.25 (left + right).
static void make_step(const double* u, double* v, size_t values) {
  for (size_t i = 0; i < values; ++i)
    v[i] = 0.5 * u[i] + 0.25 * (u[(i + 1) % values] + u[(i + values - 1) % values]);
}

static void take_note(const char* word, const double* state, size_t values) {
  const char* path = getenv("ZOO_LOG");
  if (path == NULL) return;
  const size_t bytes = values * sizeof(double);
  char* line = malloc(strlen(word) + 2 * bytes + 3);
  if (line == NULL) fail("malloc");
  char* end = line + sprintf(line, "%s ", word);
  for (size_t i = 0; i < bytes; ++i) end += sprintf(end, "%02x", ((const unsigned char*)state)[i]);
  *end++ = '\n';
  const int file = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
  // One write, so that lines of several processes do not mix.
  if (file < 0 || write(file, line, (size_t)(end - line)) != end - line) fail(path);
  close(file);
  free(line);
}

// Notes the query, and takes the time that a good one does.
static int is_bad(const double* state, size_t values) {
  const char* decided = getenv("ZOO_BAD");
  const int bad =
      decided == NULL ? hash_of(state, values) >> 32 & 1 : strcmp(decided, "always") == 0;
  take_note(bad ? "bad" : "good", state, values);
  const char* milliseconds = getenv("ZOO_NAP");
  if (!bad && milliseconds != NULL) nap(atol(milliseconds));
  return bad;
}
