// MPI programs that misbehave in bad queries (zoo.h): mpirun -n N zoo_mpi ANIMAL INPUT OUTPUT
// Compiled by the test that needs it, where there is an mpicc.
#define _GNU_SOURCE
#include <mpi.h>

#include "../zoo.h"

enum { kHead = 128 };  // bytes before the values of a small .npy file

static void be_deaf(void) {
  for (int s = 1; s < 32; ++s) signal(s, SIG_IGN);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc < 4) MPI_Abort(MPI_COMM_WORLD, 99);
  const char* animal = argv[1];
  int rank, bad = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  char head[kHead];
  double u[64], v[64];
  size_t values = 0;
  if (rank == 0) {
    FILE* file = fopen(argv[2], "rb");
    if (file == NULL || fread(head, 1, kHead, file) != kHead) fail(argv[2]);
    values = fread(u, sizeof(double), 64, file);
    fclose(file);
    make_step(u, v, values);
    bad = is_bad(u, values);
  }
  MPI_Bcast(&bad, 1, MPI_INT, 0, MPI_COMM_WORLD);
  if (bad && strcmp(animal, "hangs") == 0) sleep_forever();
  if (bad && strcmp(animal, "hangs_deaf") == 0) {
    be_deaf();
    sleep_forever();
  }
  if (bad && strcmp(animal, "one_segfaults") == 0 && rank == 2) raise(SIGSEGV);
  if (bad && strcmp(animal, "one_leaves") == 0 && rank == 1 && fork() == 0) {
    setsid();
    if (fork() != 0) _exit(0);
    be_deaf();
    sleep_forever();
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    FILE* file = fopen(argv[3], "wb");
    if (file == NULL || fwrite(head, 1, kHead, file) != kHead ||
        fwrite(v, sizeof(double), values, file) != values || fclose(file) != 0)
      fail(argv[3]);
  }
  MPI_Finalize();
  return 0;
}
