/* Makes the files below $SLOW_FILES slow, by LD_PRELOAD: calls about them wait a random time of up
   to $SLOW_FILES_MS milliseconds, so that they happen in another order than they would, and folders
   are listed as they were up to four times as long ago. And every process finds itself on a machine
   of its own. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { kFolders = 16, kNames = 20000 };
struct Listing {
  char path[512];
  double until;
  size_t count;
  char (*names)[256];
};
static struct Listing listings[kFolders];
struct Reading {
  DIR* folder;
  struct Listing* listing;
  size_t next;
  struct dirent64 entry;
};
static __thread struct Reading reading;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double chance(void) {
  static __thread unsigned long long state = 0;
  if (state == 0) state = (unsigned long long)(now() * 1e9) ^ ((unsigned long long)getpid() << 32);
  state = state * 6364136223846793005ull + 1442695040888963407ull;
  return (double)(state >> 40) / (double)(1 << 24);
}

static double most(void) {
  const char* text = getenv("SLOW_FILES_MS");
  return text ? atof(text) / 1000 : 0.2;
}

static int is_slow(const char* path) {
  const char* place = getenv("SLOW_FILES");
  return place && path && strncmp(path, place, strlen(place)) == 0;
}

static void wait_for(const char* path) {
  if (!is_slow(path)) return;
  const double seconds = most() * (0.1 + 0.9 * chance());
  struct timespec t = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
  nanosleep(&t, NULL);
}

#define REAL(name, type) ((type)dlsym(RTLD_NEXT, name))

int open(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = flags & O_CREAT ? va_arg(more, mode_t) : 0;
  va_end(more);
  wait_for(path);
  return REAL("open", int (*)(const char*, int, ...))(path, flags, mode);
}
int open64(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = flags & O_CREAT ? va_arg(more, mode_t) : 0;
  va_end(more);
  wait_for(path);
  return REAL("open64", int (*)(const char*, int, ...))(path, flags, mode);
}
int rename(const char* from, const char* to) {
  wait_for(from);
  const int result = REAL("rename", int (*)(const char*, const char*))(from, to);
  wait_for(from); /* others see it before we hear of it */
  return result;
}
ssize_t readlink(const char* path, char* buffer, size_t size) {
  if (getenv("SLOW_FILES") && strcmp(path, "/proc/self/ns/pid") == 0)
    return snprintf(buffer, size, "pid:[%d]", (int)getpid());
  return REAL("readlink", ssize_t (*)(const char*, char*, size_t))(path, buffer, size);
}
int unlink(const char* path) {
  wait_for(path);
  return REAL("unlink", int (*)(const char*))(path);
}
int access(const char* path, int mode) {
  wait_for(path);
  return REAL("access", int (*)(const char*, int))(path, mode);
}

static struct Listing* listing_of(const char* path) {
  struct Listing* free_one = NULL;
  for (int i = 0; i < kFolders; ++i) {
    if (strcmp(listings[i].path, path) == 0) return &listings[i];
    if (!free_one && !listings[i].path[0]) free_one = &listings[i];
  }
  if (!free_one) free_one = &listings[0];
  snprintf(free_one->path, sizeof free_one->path, "%s", path);
  if (!free_one->names) free_one->names = malloc(sizeof(char[256]) * kNames);
  free_one->until = 0;
  return free_one;
}

DIR* opendir(const char* path) {
  wait_for(path);
  DIR* folder = REAL("opendir", DIR* (*)(const char*))(path);
  if (!folder || !is_slow(path)) return folder;
  pthread_mutex_lock(&mutex);
  struct Listing* listing = listing_of(path);
  if (now() >= listing->until) {
    struct dirent* (*real)(DIR*) = REAL("readdir", struct dirent* (*)(DIR*));
    listing->count = 0;
    for (struct dirent* entry; listing->count < kNames && (entry = real(folder));)
      snprintf(listing->names[listing->count++], 256, "%s", entry->d_name);
    listing->until = now() + 4 * most() * chance();
  }
  pthread_mutex_unlock(&mutex);
  reading = (struct Reading){.folder = folder, .listing = listing};
  return folder;
}

struct dirent* readdir(DIR* folder) {
  if (reading.folder != folder)
    return REAL("readdir", struct dirent* (*)(DIR*))(folder);
  pthread_mutex_lock(&mutex);
  struct dirent* result = NULL;
  if (reading.next < reading.listing->count) {
    snprintf(reading.entry.d_name, sizeof reading.entry.d_name, "%s",
             reading.listing->names[reading.next++]);
    result = (struct dirent*)&reading.entry;
  }
  pthread_mutex_unlock(&mutex);
  return result;
}

int closedir(DIR* folder) {
  if (reading.folder == folder) reading.folder = NULL;
  return REAL("closedir", int (*)(DIR*))(folder);
}
