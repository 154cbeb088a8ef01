/* u_t = D u_xx on a periodic line, as a worker:  cc -O2 heat.c -o heat  */
#include "stap_solver.h"

static int step(const double* in, double* out, const stap_step* info, void* mine) {
  const int n = info->points[0], small = 100; /* explicit steps in one learned step */
  const double h = info->lengths[0] / n, diffusion = stap_parameter(info, "D", 0.1);
  const double r = diffusion * (info->dt / small) / (h * h);
  int i, j;
  (void)mine;
  if (r > 0.5) return stap_fail("the grid is too fine for 100 explicit steps");
  memcpy(out, in, info->values * sizeof(double));
  for (j = 0; j < small; ++j) {
    const double first = out[0];
    double left = out[n - 1];
    for (i = 0; i < n; ++i) {
      const double here = out[i], right = i + 1 < n ? out[i + 1] : first;
      out[i] = here + r * (right - 2 * here + left);
      left = here;
    }
  }
  return 0;
}

int main(int argc, char** argv) {
  return stap_serve(argc, argv, step, NULL);
}
