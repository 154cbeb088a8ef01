/* A worker: rank 0 talks to stap, the others hear of it by MPI. */
#include "stap_solver.h" /* in interfaces/c; before all others */

#include "advection.h"

static int rank, ranks;

/* MPI_Bcast from rank 0, asleep until it comes: Open MPI waits at full speed, and between two
 * queries that would take a core from the training for every rank. */
static void hear(void* what, int bytes) {
  MPI_Request request;
  int done = 0;
  MPI_Ibcast(what, bytes, MPI_BYTE, 0, MPI_COMM_WORLD, &request);
  while (MPI_Test(&request, &done, MPI_STATUS_IGNORE), !done) usleep(200);
}

static int serve(void) {
  stap_step info;
  double* u = NULL;
  int more = 0;
  if (rank == 0 && stap_open("advection", &info) != 0) MPI_Abort(MPI_COMM_WORLD, 1);
  hear(&info, sizeof info);
  if (info.points[0] % ranks != 0) {
    if (rank == 0) stap_failed("the number of rows is no multiple of that of ranks", 0);
    return 1;
  }
  if (rank == 0) u = malloc(info.values * sizeof(double));
  while (1) {
    if (rank == 0) more = stap_next(&info, u);
    hear(&more, sizeof more);
    if (!more) break;
    hear(&info, sizeof info);
    advance(u, info.points[0], info.points[1], info.dt, stap_parameter(&info, "ax", 0),
            stap_parameter(&info, "ay", 0), stap_parameter(&info, "nu", 0));
    if (rank == 0) stap_answer(u, 1);
  }
  if (rank == 0) stap_close();
  return 0;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int code = serve();
  MPI_Finalize();
  return code;
}
