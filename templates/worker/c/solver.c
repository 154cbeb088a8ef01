/* A worker: a reaction-diffusion equation, u_t = D u_xx + u - u^3, on a periodic line.
 *
 * stap starts it once for every slot and then asks it for one step after the other;
 * stap_solver.h, beside this file, does the talking. What it prints goes to a log. Replace
 * step() with your own solver; keep to one rule: the answer depends on `in` and `info` alone.
 */
#include "stap_solver.h"

#include <math.h>

/* ---- your own solver goes here: in[i] stands at x = i * length / n; fill out, return 0 ------- */
static int step(const double* in, double* out, const stap_step* info, void* mine) {
  size_t i, n = info->values;
  double h = info->lengths[0] / (double)n, dt = info->dt, *u = mine;
  double diffusion = stap_parameter(info, "diffusion", 0.01);
  int k, small = 1 + (int)ceil(dt * fmax(4 * diffusion / (h * h), 20)); /* stable inner steps */
  memcpy(out, in, n * sizeof *out);
  for (k = 0; k < small; ++k) {
    memcpy(u, out, n * sizeof *u);
    for (i = 0; i < n; ++i) {
      double left = u[(i + n - 1) % n], right = u[(i + 1) % n];
      out[i] = u[i] + dt / small *
                          (diffusion * (left - 2 * u[i] + right) / (h * h) + u[i] - u[i] * u[i] * u[i]);
    }
  }
  for (i = 0; i < n; ++i)
    if (!isfinite(out[i])) return stap_fail("the step could not be made"); /* this query alone */
  return 0;
}

int main(int argc, char** argv) {
  static double room[1 << 20]; /* set up here what takes long: it is done once */
  return stap_serve(argc, argv, step, room);
}
