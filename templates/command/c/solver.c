/* One learned step of a reaction-diffusion equation, u_t = D u_xx + u - u^3, on a periodic line.
 *
 *   ./solver input.npy output.npy dt length diffusion
 *
 * reads a state, advances it by dt and writes it. stap starts it once for every step, in a folder
 * of its own. Replace step() with your own solver; keep to one rule: the answer depends on
 * the input file and the arguments alone.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- your own solver goes here: u holds n values at x = i * length / n ---------------------- */
static int step(double* u, size_t n, double dt, double length, double diffusion) {
  double h = length / (double)n, *v = malloc(n * sizeof *v);
  int k, small = 1 + (int)ceil(dt * fmax(4 * diffusion / (h * h), 20)); /* stable inner steps */
  if (v == NULL) return 1;
  for (k = 0; k < small; ++k) {
    size_t i;
    for (i = 0; i < n; ++i) {
      double left = u[(i + n - 1) % n], right = u[(i + 1) % n];
      v[i] = u[i] + dt / small *
                        (diffusion * (left - 2 * u[i] + right) / (h * h) + u[i] - u[i] * u[i] * u[i]);
    }
    memcpy(u, v, n * sizeof *u);
  }
  free(v);
  return 0;
}

/* ---- files: a .npy file is a header and the values; the answer has the same header ---------- */
int main(int argc, char** argv) {
  unsigned char head[10 + 65535];
  size_t more, n, room = 1 << 20;
  double* u = malloc(room * sizeof *u);
  FILE* file;
  if (argc != 6 || u == NULL) return fprintf(stderr, "five arguments are needed\n"), 2;
  file = fopen(argv[1], "rb");
  if (file == NULL || fread(head, 1, 10, file) != 10) return perror(argv[1]), 1;
  more = head[8] + 256u * head[9]; /* bytes of the header behind the first ten */
  if (fread(head + 10, 1, more, file) != more) return perror(argv[1]), 1;
  n = fread(u, sizeof *u, room, file);
  fclose(file);

  if (n == 0 || step(u, n, atof(argv[3]), atof(argv[4]), atof(argv[5])) != 0)
    return fprintf(stderr, "the step could not be made\n"), 1; /* fails this query alone */

  file = fopen(argv[2], "wb");
  if (file == NULL || fwrite(head, 1, 10 + more, file) != 10 + more ||
      fwrite(u, sizeof *u, n, file) != n || fclose(file) != 0)
    return perror(argv[2]), 1;
  return 0;
}
