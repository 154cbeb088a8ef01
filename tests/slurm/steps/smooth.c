/* A solver for tests of launchers, made of ranks of MPI: smooths a line of points, each rank its
 * part of them. `smooth INPUT OUTPUT` is a command (.npy of float64), `smooth` alone a worker.
 *
 * SMOOTH_SECONDS: how long a step takes. SMOOTH_LOG: a file to which rank 0 appends a line a step.
 */
#include "stap_solver.h" /* before all others */

#include <mpi.h>

static int rank, ranks;

/* MPI_Bcast from rank 0, asleep until it comes. */
static void hear(void* what, int bytes) {
  MPI_Request request;
  int done = 0;
  MPI_Ibcast(what, bytes, MPI_BYTE, 0, MPI_COMM_WORLD, &request);
  while (MPI_Test(&request, &done, MPI_STATUS_IGNORE), !done) usleep(200);
}

/* Rank 0 has u, [n], and gets it back; n is a multiple of the number of ranks. */
static void advance(double* u, int n) {
  const char *seconds = getenv("SMOOTH_SECONDS"), *log = getenv("SMOOTH_LOG");
  const int mine = n / ranks;
  double *all = malloc((size_t)n * sizeof *all), *v = malloc((size_t)mine * sizeof *v);
  int i;
  if (rank == 0) memcpy(all, u, (size_t)n * sizeof *all);
  hear(all, n * (int)sizeof *all);
  if (rank == 0 && log != NULL) {
    const char* node = getenv("SLURMD_NODENAME");
    char line[256];
    const int file = open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);
    const int size = snprintf(line, sizeof line, "%s %d of %d ranks\n", node != NULL ? node : "-",
                              (int)getpid(), ranks);
    if (file < 0 || write(file, line, (size_t)size) != size) MPI_Abort(MPI_COMM_WORLD, 1);
    close(file);
  }
  if (seconds != NULL) usleep((useconds_t)(1e6 * atof(seconds)));
  for (i = 0; i < mine; ++i) {
    const int at = rank * mine + i;
    v[i] = 0.5 * all[at] + 0.25 * (all[(at + 1) % n] + all[(at + n - 1) % n]);
  }
  MPI_Gather(v, mine, MPI_DOUBLE, u, mine, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  free(all);
  free(v);
}

static int serve(void) {
  stap_step info;
  double* u = NULL;
  int more = 0;
  if (rank == 0 && stap_open("smooth", &info) != 0) MPI_Abort(MPI_COMM_WORLD, 1);
  hear(&info, sizeof info);
  u = malloc(info.values * sizeof *u);
  while (1) {
    if (rank == 0) more = stap_next(&info, u);
    hear(&more, sizeof more);
    if (!more) break;
    advance(u, (int)info.values);
    if (rank == 0) stap_answer(u, 1);
  }
  if (rank == 0) stap_close();
  free(u);
  return 0;
}

static int step_of_files(char** argv) {
  static char head[65536 + 10]; /* of a .npy file: 10 bytes, then as many as bytes 8 and 9 say */
  static double u[1 << 16];
  size_t more = 0;
  int n = 0;
  FILE* file = rank == 0 ? fopen(argv[1], "rb") : NULL;
  if (file != NULL && fread(head, 1, 10, file) == 10) {
    more = (unsigned char)head[8] + 256u * (unsigned char)head[9];
    if (fread(head + 10, 1, more, file) == more) n = (int)fread(u, sizeof *u, 1 << 16, file);
    fclose(file);
  }
  if (rank == 0 && n == 0) fprintf(stderr, "no state in %s\n", argv[1]);
  hear(&n, sizeof n);
  if (n == 0) return 1;
  advance(u, n);
  if (rank != 0) return 0;
  file = fopen(argv[2], "wb");
  if (file == NULL) return 1;
  fwrite(head, 1, 10 + more, file);
  fwrite(u, sizeof *u, (size_t)n, file);
  return fclose(file) == 0 ? 0 : 1;
}

int main(int argc, char** argv) {
  int code;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  code = argc > 2 ? step_of_files(argv) : serve();
  MPI_Finalize();
  return code;
}
