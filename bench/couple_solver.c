// A solver that does nothing but take its time, for couple_bench:
//
//   couple_solver copy INPUT OUTPUT SECONDS     as a command
//   couple_solver serve SECONDS                 as a worker
#include "stap_solver.h"

static double seconds = 0;

static void take_time(void) {
  struct timespec left = {(time_t)seconds, (long)(1e9 * (seconds - (double)(time_t)seconds))};
  if (seconds > 0) nanosleep(&left, NULL);
}

static int step(const double* in, double* out, const stap_step* info, void* mine) {
  (void)mine;
  take_time();
  memcpy(out, in, info->values * sizeof(double));
  return 0;
}

static int copy(const char* from, const char* to) {
  static char bytes[1 << 20];
  FILE* in = fopen(from, "rb");
  FILE* out = fopen(to, "wb");
  if (in == NULL || out == NULL) return 1;
  for (size_t n; (n = fread(bytes, 1, sizeof bytes, in)) > 0;)
    if (fwrite(bytes, 1, n, out) != n) return 1;
  fclose(in);
  return fclose(out) != 0;
}

int main(int argc, char** argv) {
  if (argc == 5 && strcmp(argv[1], "copy") == 0) {
    seconds = atof(argv[4]);
    take_time();
    return copy(argv[2], argv[3]);
  }
  if (argc == 3 && strcmp(argv[1], "serve") == 0) {
    seconds = atof(argv[2]);
    return stap_serve(argc, argv, step, NULL);
  }
  return 2;
}
