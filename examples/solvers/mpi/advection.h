/* The solver: u_t + ax u_x + ay u_y = nu lap(u) on a periodic unit square, upwind and explicit,
 * with the rows spread over the ranks of MPI. worker.c and command.c are two ways to reach it.
 */
#pragma once

#include <math.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

/* Advances u, [n][m], by dt. Rank 0 has it and gets it; n is a multiple of the number of ranks. */
static void advance(double* all, int n, int m, double dt, double ax, double ay, double nu) {
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int mine = n / ranks, before = (rank + ranks - 1) % ranks, behind = (rank + 1) % ranks;
  const int steps = 1 + (int)(2 * dt * (fabs(ax) * n + fabs(ay) * m + 2 * nu * (n * n + m * m)));
  const double t = dt / steps;
  double* u = malloc((size_t)(mine + 2) * m * sizeof(double)); /* a row more at both ends */
  double* v = malloc((size_t)mine * m * sizeof(double));
  MPI_Scatter(all, mine * m, MPI_DOUBLE, u + m, mine * m, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  for (int s = 0; s < steps; ++s) {
    MPI_Sendrecv(u + m, m, MPI_DOUBLE, before, 0, u + (mine + 1) * m, m, MPI_DOUBLE, behind, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv(u + mine * m, m, MPI_DOUBLE, behind, 1, u, m, MPI_DOUBLE, before, 1,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 1; i <= mine; ++i)
      for (int j = 0; j < m; ++j) {
        const double here = u[i * m + j], left = u[(i - 1) * m + j], right = u[(i + 1) * m + j];
        const double below = u[i * m + (j + m - 1) % m], above = u[i * m + (j + 1) % m];
        v[(i - 1) * m + j] =
            here - t * ax * n * (ax > 0 ? here - left : right - here) -
            t * ay * m * (ay > 0 ? here - below : above - here) +
            t * nu * ((right - 2 * here + left) * n * n + (above - 2 * here + below) * m * m);
      }
    memcpy(u + m, v, (size_t)mine * m * sizeof(double));
  }
  MPI_Gather(u + m, mine * m, MPI_DOUBLE, all, mine * m, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  free(u);
  free(v);
}
