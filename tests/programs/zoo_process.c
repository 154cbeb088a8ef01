// Processes that do not go easily: zoo_process KIND FILE. FILE is there when all of them are up.
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void sleep_forever(void) {
  for (;;) pause();
}

static void be_deaf(void) {
  for (int s = 1; s < 32; ++s) signal(s, SIG_IGN);
}

static void tell(const char* path) {
  const int file = open(path, O_WRONLY | O_CREAT, 0600);
  if (file < 0) _exit(99);
  close(file);
}

// Leaves a process that has left session and parents behind; returns in its maker.
static void leave_daemon(const char* path, int deaf) {
  const pid_t child = fork();
  if (child == 0) {
    setsid();
    if (fork() != 0) _exit(0);
    if (deaf) be_deaf();
    tell(path);
    sleep_forever();
  }
  waitpid(child, NULL, 0);
  while (access(path, F_OK) != 0) usleep(1000);
}

static void keep_stopping(pid_t warden, const char* path) {
  be_deaf();
  kill(warden, SIGSTOP);
  tell(path);
  while (kill(warden, SIGSTOP) == 0) {
  }
  sleep_forever();
}

static void list_descriptors(void) {
  DIR* folder = opendir("/proc/self/fd");
  if (folder == NULL) _exit(99);
  for (const struct dirent* entry; (entry = readdir(folder)) != NULL;)
    if (entry->d_name[0] != '.' && atoi(entry->d_name) != dirfd(folder))
      printf("%s ", entry->d_name);
}

int main(int argc, char** argv) {
  const char* kind = argc > 1 ? argv[1] : "";
  const char* path = argc > 2 ? argv[2] : "/dev/null";
  if (strcmp(kind, "descriptors") == 0) {
    list_descriptors();
  } else if (strcmp(kind, "sleeps") == 0) {
    tell(path);
    sleep_forever();
  } else if (strcmp(kind, "stops_warden") == 0) {
    kill(getppid(), SIGSTOP);
    tell(path);
    sleep_forever();
  } else if (strcmp(kind, "keeps_stopping") == 0) {
    keep_stopping(getppid(), path);
  } else if (strcmp(kind, "leaves_keeper") == 0) {  // and is gone
    const pid_t warden = getppid();
    if (fork() == 0) {
      setsid();
      keep_stopping(warden, path);
    }
    while (access(path, F_OK) != 0) usleep(1000);
  } else if (strcmp(kind, "deaf") == 0) {
    be_deaf();
    tell(path);
    sleep_forever();
  } else if (strcmp(kind, "daemon") == 0) {  // and is gone
    leave_daemon(path, 0);
  } else if (strcmp(kind, "deaf_daemon") == 0) {
    leave_daemon(path, 1);
  } else if (strcmp(kind, "with_daemon") == 0) {  // and stays
    leave_daemon(path, 1);
    sleep_forever();
  } else if (strcmp(kind, "with_child") == 0) {  // of the same session, which outlives its parent
    if (fork() == 0) {
      be_deaf();
      tell(path);
      sleep_forever();
    }
    sleep_forever();
  } else if (strcmp(kind, "brief_child") == 0) {  // which goes by itself a little later
    if (fork() == 0) {
      usleep(20000);
      _exit(0);
    }
  } else if (strcmp(kind, "crowd") == 0) {
    for (int i = 0; i < 30; ++i)
      if (fork() == 0) {
        setsid();
        be_deaf();
        sleep_forever();
      }
    tell(path);
    sleep_forever();
  } else if (strcmp(kind, "storm") == 0) {  // every process makes another one and ends
    be_deaf();
    tell(path);
    for (;;) {
      const pid_t child = fork();
      if (child > 0) _exit(0);
    }
  } else {
    fprintf(stderr, "zoo_process: no kind '%s'\n", kind);
    return 99;
  }
  return 0;
}
