/* draw SEED OUTPUT: one initial state, [2][64] around the Brusselator's fixed point, as .npy. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { points = 64, waves = 3 };

static double uniform(uint64_t* state) { /* splitmix64 */
  uint64_t z = *state += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return (double)((z ^ (z >> 31)) >> 11) / 9007199254740992.0;
}

int main(int argc, char** argv) {
  if (argc != 3) return fprintf(stderr, "usage: draw SEED OUTPUT\n"), 2;
  uint64_t random = strtoull(argv[1], NULL, 10);
  double state[2][points];
  for (int c = 0; c < 2; ++c) {
    for (int i = 0; i < points; ++i) state[c][i] = c == 0 ? 1.0 : 3.0;
    for (int k = 1; k <= waves; ++k) {
      const double amplitude = 0.5 * uniform(&random) / k, phase = 6.283185307 * uniform(&random);
      for (int i = 0; i < points; ++i)
        state[c][i] += amplitude * sin(6.283185307179586 * k * i / points + phase);
    }
  }
  /* .npy: 10 bytes, then text that makes it 128 with them, then the numbers. */
  FILE* out = fopen(argv[2], "wb");
  if (out == NULL) return perror(argv[2]), 1;
  char text[119];
  snprintf(text, sizeof text, "%-117s\n",
           "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 64), }");
  fwrite("\x93NUMPY\x01\x00\x76\x00", 1, 10, out);
  fwrite(text, 1, 118, out);
  fwrite(state, sizeof state, 1, out);
  return fclose(out) == 0 ? 0 : 1;
}
