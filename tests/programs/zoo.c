// Solvers that misbehave: zoo ANIMAL INPUT OUTPUT [STEPS]
//
// Reads a state (.npy), makes its steps and writes what they give, unless the query is bad and the
// animal does something else.
//
//   ZOO_FILE   what `foreign` copies to OUTPUT
#define _GNU_SOURCE
#include "zoo.h"

#include <math.h>
#include <sys/stat.h>

enum { kValuesMost = 1 << 20, kHeadMost = 4096 };

static const char *input, *output;
static int steps = 1;
static char head[kHeadMost];  // of INPUT: magic, version, length, text
static size_t head_bytes;
static double u[kValuesMost], v[kValuesMost];
static size_t values;

static void read_input(void) {
  FILE* file = fopen(input, "rb");
  if (file == NULL || fread(head, 1, 10, file) != 10) fail(input);
  const size_t text = (unsigned char)head[8] + 256u * (unsigned char)head[9];
  head_bytes = 10 + text;
  if (head_bytes > kHeadMost || fread(head + 10, 1, text, file) != text) fail(input);
  values = fread(u, sizeof(double), kValuesMost, file);
  fclose(file);
}

// An array of doubles whose header says `descr` and `shape`, of which `count` values are written.
static void write_array(const char* path, const char* descr, const char* shape, size_t count) {
  char text[kHeadMost];
  const int length = snprintf(
      text, sizeof text, "{'descr': '%s', 'fortran_order': False, 'shape': %s, }\n", descr, shape);
  const unsigned char start[10] = {0x93,
                                   'N',
                                   'U',
                                   'M',
                                   'P',
                                   'Y',
                                   1,
                                   0,
                                   (unsigned char)(length % 256),
                                   (unsigned char)(length / 256)};
  FILE* file = fopen(path, "wb");
  if (file == NULL || fwrite(start, 1, sizeof start, file) != sizeof start ||
      fwrite(text, 1, (size_t)length, file) != (size_t)length ||
      fwrite(v, sizeof(double), count, file) != count || fclose(file) != 0)
    fail(path);
}

// "(1, 8)" of a state with one channel.
static const char* shape_of(size_t channels, size_t points) {
  static char text[64];
  snprintf(text, sizeof text, "(%zu, %zu)", channels, points);
  return text;
}

// What is expected: a state of the input's shape, or so many.
static void write_good(const char* path) {
  char shape[64];
  snprintf(shape, sizeof shape, "(%d, 1, %zu)", steps, values);
  for (int s = 0; s < steps; ++s)
    make_step(s == 0 ? u : v + (size_t)(s - 1) * values, v + (size_t)s * values, values);
  write_array(path, "<f8", steps == 1 ? shape_of(1, values) : shape, (size_t)steps * values);
}

// True the first time that a process asks about this input.
static int first_time(void) {
  const char* notes = getenv("ZOO_NOTES");
  if (notes == NULL) fail("ZOO_NOTES is not set");
  char path[kHeadMost];
  snprintf(path, sizeof path, "%s/%016llx", notes, (unsigned long long)hash_of(u, values));
  const int file = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
  if (file >= 0) close(file);
  return file >= 0;
}

// --- animals that are no use -----------------------------------------------------------------

static void exit_1(void) {
  fprintf(stderr, "matrix is singular\n");
  exit(1);
}
static void exit_75(void) {
  exit(75);
}
static void segfault(void) {
  raise(SIGSEGV);
}
static void kills_itself(void) {
  kill(getpid(), SIGKILL);
}
static void aborts(void) {
  abort();
}
static void hangs(void) {
  sleep_forever();
}
static void hangs_deaf(void) {
  for (int s = 1; s < 32; ++s) signal(s, SIG_IGN);
  sleep_forever();
}
static void stops(void) {
  for (;;) raise(SIGSTOP);
}
static void hangs_below(void) {  // as a script does that waits for a program
  if (fork() == 0) sleep_forever();
  wait(NULL);
}
static void no_output(void) {}
static void nan_output(void) {
  u[values / 2] = (double)NAN;
  write_good(output);
}
static void inf_output(void) {
  u[0] = (double)INFINITY;
  write_good(output);
}
static void wrong_shape(void) {
  write_array(output, "<f8", shape_of(values, 1), values);
}
static void too_many(void) {
  write_array(output, "<f8", shape_of(1, 2 * values), 2 * values);
}
static void wrong_steps(void) {  // one more than it was asked for
  char shape[64];
  snprintf(shape, sizeof shape, "(%d, 1, %zu)", steps + 1, values);
  write_array(output, "<f8", shape, (size_t)(steps + 1) * values);
}
static void short_file(void) {
  write_array(output, "<f8", shape_of(1, values), values - 1);
}
static void long_file(void) {
  write_array(output, "<f8", shape_of(1, values), values + 1);
}
static void wrong_type(void) {
  write_array(output, "<c16", shape_of(1, values), 2 * values);
}
static void objects(void) {
  write_array(output, "|O", shape_of(1, values), values);
}
static void garbage(void) {
  FILE* file = fopen(output, "wb");
  if (file == NULL) fail(output);
  uint64_t x = hash_of(u, values);
  for (int i = 0; i < 4096; ++i) {
    x = x * 6364136223846793005u + 1442695040888963407u;
    fputc((int)(x >> 56), file);
  }
  fclose(file);
}
static void empty_file(void) {
  close(open(output, O_WRONLY | O_CREAT, 0600));
}
static void huge_header(void) {
  write_array(output, "<f8", "(1099511627776, 1099511627776)", values);
}
static void temporary_name(void) {
  char path[kHeadMost];
  snprintf(path, sizeof path, "%s.tmp", output);
  write_good(path);
}
static void late_rename(void) {
  char path[kHeadMost];
  snprintf(path, sizeof path, "%s.tmp", output);
  write_good(path);
  if (!become_daemon()) return;
  nap(3000);
  rename(path, output);
  _exit(0);
}
static void fifo_output(void) {
  if (mkfifo(output, 0600) != 0) fail(output);
}
static void fifo_log(void) {  // whoever opens it waits for somebody to write
  unlink("log.txt");
  if (mkfifo("log.txt", 0600) != 0) fail("log.txt");
  exit(1);
}
static void folder_output(void) {
  if (mkdir(output, 0700) != 0) fail(output);
}
static void endless_link(void) {
  if (symlink("/dev/zero", output) != 0) fail(output);
}
static void loop_link(void) {
  if (symlink("output.npy", output) != 0) fail(output);
}
static void endless_words(void) {
  for (;;) puts("step 0001 residual 1.0e-3 and so on and so forth");
}
static void endless_file(void) {
  FILE* file = fopen(output, "wb");
  if (file == NULL) fail(output);
  while (fwrite(v, sizeof(double), kValuesMost, file) == kValuesMost) {
  }
  sleep_forever();
}
static void many_files(void) {
  for (int i = 0; i < 500; ++i) {
    char name[64];
    snprintf(name, sizeof name, "file%03d", i);
    close(open(name, O_WRONLY | O_CREAT, 0600));
  }
  write_good(output);
}
static void deletes_folder(void) {
  char command[2 * kHeadMost];
  snprintf(command, sizeof command, "rm -rf \"$PWD\"");
  if (system(command) != 0) fail("rm");
}
static void locks_folder(void) {
  mkdir("inner", 0700);
  close(open("inner/file", O_WRONLY | O_CREAT, 0600));
  chmod("inner", 0);
  chmod(".", 0);
}
static void drips(void) {
  FILE* file = fopen(output, "wb");
  if (file == NULL) fail(output);
  setvbuf(file, NULL, _IONBF, 0);
  for (size_t i = 0; i < head_bytes; ++i) {
    fputc(head[i], file);
    nap(200);
  }
  sleep_forever();
}
static void hungry(void) {  // 8 GB, all of it touched
  for (int i = 0; i < 8192; ++i) {
    char* block = malloc(1 << 20);
    if (block == NULL) {
      fprintf(stderr, "out of memory\n");
      exit(1);
    }
    memset(block, 1, 1 << 20);
  }
}
static void kills_warden(void) {
  kill(getppid(), SIGKILL);
  sleep_forever();
}
static void stops_warden(void) {
  kill(getppid(), SIGSTOP);
  sleep_forever();
}
static void keeps_stopping(void) {
  keep_stopping(getppid());
}
static void orphans_daemon(void) {
  const pid_t warden = getppid();
  if (become_daemon()) hangs_deaf();
  kill(warden, SIGKILL);
  sleep_forever();
}
// Every process of it makes another one and ends: whoever looks for it finds one that is gone.
static void storm(void) {
  setsid();
  for (;;) {
    const pid_t child = fork();
    if (child > 0) _exit(1);
  }
}
static void deaf_crowd(void) {
  for (int i = 0; i < 20; ++i)
    if (fork() == 0) {
      setsid();
      hangs_deaf();
    }
  exit(3);
}

// --- animals that are strange, and answer ----------------------------------------------------

static void leaves_daemon(void) {
  write_good(output);
  if (become_daemon()) sleep_forever();
}
static void leaves_deaf_daemon(void) {
  write_good(output);
  if (become_daemon()) hangs_deaf();
}
static void stops_warden_and_answers(void) {
  write_good(output);
  kill(getppid(), SIGSTOP);
}
static void renames(void) {
  char path[kHeadMost];
  snprintf(path, sizeof path, "%s.tmp", output);
  write_good(path);
  if (rename(path, output) != 0) fail(output);
}
static void slow(void) {
  nap(5000);
  write_good(output);
}
static void moody(void) {  // another answer every time
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  u[0] += (double)(now.tv_nsec % 1000) * 1e-6;
  write_good(output);
}
static void second_try(void) {
  if (first_time()) {
    fprintf(stderr, "licence server is busy\n");
    exit(1);
  }
  write_good(output);
}
static void reads_stdin(void) {
  while (getchar() != EOF) {
  }
  write_good(output);
}
static void single_precision(void) {
  make_step(u, v, values);
  static float w[kValuesMost];
  for (size_t i = 0; i < values; ++i) w[i] = (float)v[i];
  memcpy(v, w, values * sizeof(float));
  char shape[64];
  snprintf(shape, sizeof shape, "(1, %zu)", values);
  write_array(output, "<f4", shape, values / 2);  // of an even number
}
static void foreign(void) {
  const char* from = getenv("ZOO_FILE");
  char command[2 * kHeadMost];
  snprintf(command, sizeof command, "cp '%s' '%s'", from, output);
  if (system(command) != 0) fail("cp");
}

static const struct {
  const char* name;
  void (*act)(void);
} animals[] = {
    {"exit_1", exit_1},
    {"exit_75", exit_75},
    {"segfault", segfault},
    {"kills_itself", kills_itself},
    {"aborts", aborts},
    {"hangs", hangs},
    {"hangs_deaf", hangs_deaf},
    {"stops", stops},
    {"hangs_below", hangs_below},
    {"no_output", no_output},
    {"nan_output", nan_output},
    {"inf_output", inf_output},
    {"wrong_shape", wrong_shape},
    {"too_many", too_many},
    {"wrong_steps", wrong_steps},
    {"short_file", short_file},
    {"long_file", long_file},
    {"wrong_type", wrong_type},
    {"objects", objects},
    {"garbage", garbage},
    {"empty_file", empty_file},
    {"huge_header", huge_header},
    {"temporary_name", temporary_name},
    {"late_rename", late_rename},
    {"fifo_output", fifo_output},
    {"fifo_log", fifo_log},
    {"folder_output", folder_output},
    {"endless_link", endless_link},
    {"loop_link", loop_link},
    {"endless_words", endless_words},
    {"endless_file", endless_file},
    {"many_files", many_files},
    {"deletes_folder", deletes_folder},
    {"locks_folder", locks_folder},
    {"drips", drips},
    {"hungry", hungry},
    {"kills_warden", kills_warden},
    {"stops_warden", stops_warden},
    {"keeps_stopping", keeps_stopping},
    {"orphans_daemon", orphans_daemon},
    {"storm", storm},
    {"deaf_crowd", deaf_crowd},
    {"leaves_daemon", leaves_daemon},
    {"leaves_deaf_daemon", leaves_deaf_daemon},
    {"stops_warden_and_answers", stops_warden_and_answers},
    {"renames", renames},
    {"slow", slow},
    {"moody", moody},
    {"second_try", second_try},
    {"reads_stdin", reads_stdin},
    {"single_precision", single_precision},
    {"foreign", foreign},
};

int main(int argc, char** argv) {
  if (argc < 4) {
    fprintf(stderr, "zoo: expected ANIMAL INPUT OUTPUT [STEPS]\n");
    return 99;
  }
  input = argv[2];
  output = argv[3];
  if (argc > 4) steps = atoi(argv[4]);
  read_input();
  if (!is_bad(u, values)) {
    write_good(output);
    return 0;
  }
  for (size_t i = 0; i < sizeof animals / sizeof animals[0]; ++i)
    if (strcmp(animals[i].name, argv[1]) == 0) {
      animals[i].act();
      return 0;
    }
  fprintf(stderr, "zoo: no animal '%s'\n", argv[1]);
  return 99;
}
