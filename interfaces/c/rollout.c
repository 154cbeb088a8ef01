/* Steps of a trained surrogate:  cc -std=c99 -O3 rollout.c stap_model.c -o rollout -lm
 *
 *   rollout MODEL STEPS < state > states      doubles, [channel][x][y]; by how much the members of
 * the committee differ goes to stderr, step by step */
#include "stap_model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  char why[STAP_MODEL_MESSAGE];
  const long steps = argc == 3 ? strtol(argv[2], NULL, 10) : 0;
  stap_model* model = NULL;
  stap_work* work;
  double *state, *spread, squares;
  size_t n, v;
  long i;
  if (steps < 1) return fprintf(stderr, "rollout MODEL STEPS < state > states\n"), 2;
  model = stap_model_open(argv[1], why, sizeof why);
  if (model == NULL) return fprintf(stderr, "rollout: %s\n", why), 3;
  n = stap_model_about(model)->values;
  work = stap_model_work(model);
  state = malloc(n * sizeof *state);
  spread = malloc(n * sizeof *spread);
  if (work == NULL || state == NULL || spread == NULL) return fprintf(stderr, "no memory\n"), 5;
  if (fread(state, sizeof *state, n, stdin) != n)
    return fprintf(stderr, "rollout: a state has %lu doubles\n", (unsigned long)n), 3;
  for (i = 0; i < steps; ++i) {
    stap_model_members(model, work, i, state, NULL, NULL, spread);
    stap_model_step(model, work, STAP_MODEL_MEAN, i, state, state);
    for (squares = 0.0, v = 0; v < n; ++v) squares += spread[v] * spread[v];
    fprintf(stderr, "step %ld: members differ by %.3g\n", i + 1, sqrt(squares / (double)n));
    if (fwrite(state, sizeof *state, n, stdout) != n) return 6;
  }
  free(spread);
  free(state);
  stap_work_free(work);
  stap_model_close(model);
  return 0;
}
