/* A command: command INPUT OUTPUT X Y DT ax ay nu, with .npy files of float64. */
#include "advection.h"

#include <stdio.h>

static int rank, ranks;
static char head[65536 + 10]; /* of a .npy file: 10 bytes, then as many as bytes 8 and 9 say */

static int step(char** argv) {
  const int n = atoi(argv[3]), m = atoi(argv[4]);
  const size_t count = (size_t)n * m;
  double* u = malloc(count * sizeof(double));
  size_t more = 0;
  if (rank == 0) {
    FILE* in = fopen(argv[1], "rb");
    if (in && fread(head, 1, 10, in) == 10)
      more = (unsigned char)head[8] + 256u * (unsigned char)head[9];
    if (n % ranks != 0 || more == 0 || fread(head + 10, 1, more, in) != more ||
        fread(u, sizeof(double), count, in) != count) {
      fprintf(stderr, "%s is no state [1, %d, %d], or %d rows are not for %d ranks\n", argv[1], n,
              m, n, ranks);
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
  }
  advance(u, n, m, atof(argv[5]), atof(argv[6]), atof(argv[7]), atof(argv[8]));
  if (rank != 0) return 0;
  FILE* out = fopen(argv[2], "wb"); /* the same shape, so the same header */
  if (!out) return perror(argv[2]), 1;
  fwrite(head, 1, 10 + more, out);
  fwrite(u, sizeof(double), count, out);
  return fclose(out) == 0 ? 0 : 1;
}

int main(int argc, char** argv) {
  if (argc != 9) return fprintf(stderr, "usage: command INPUT OUTPUT X Y DT ax ay nu\n"), 2;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int code = step(argv);
  MPI_Finalize();
  return code;
}
