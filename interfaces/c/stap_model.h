/*
 * stap_model.h: a trained surrogate in your C, C++ or Fortran program. Two files, stap_model.h and
 * stap_model.c, in C99; nothing but the C library and libm.
 *
 *   char why[STAP_MODEL_MESSAGE];
 *   stap_model* model = stap_model_open("model.safetensors", why, sizeof why);
 *   if (model == NULL) { fprintf(stderr, "%s\n", why); exit(1); }
 *   stap_work* work = stap_model_work(model);       (one per thread)
 *   for (long i = 0; i < steps; ++i) stap_model_step(model, work, STAP_MODEL_MEAN, i, u, u);
 *   stap_work_free(work);
 *   stap_model_close(model);
 *
 * The file is that of `stap export-model RUN --out model.safetensors`: all networks of a committee
 * with what surrounds them. States are doubles [channel][x][y] in C order, stap_model_about() says
 * how many; networks compute in single precision.
 *
 * A model never changes once it is open: threads share it, each with a work area of its own. Steps
 * allocate nothing, print nothing and take the same bits to the same bits. Compile stap_model.c
 * with -O3 -mavx2 -mfma (or -march=native) where the machine has them: it is three times as fast.
 */
#ifndef STAP_MODEL_H
#define STAP_MODEL_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define STAP_MODEL_MEAN (-1)   /* the averaged model, in the place of a member */
#define STAP_MODEL_MESSAGE 400 /* bytes that hold every message */

typedef struct stap_model stap_model;
typedef struct stap_work stap_work;

/* Something of the problem that varies from trajectory to trajectory, and that networks are told. */
typedef struct {
  const char* name;
  double least, greatest; /* that networks have learned from; beyond them they extrapolate */
} stap_parameter_info;

typedef struct {
  int axes;            /* 1 or 2 */
  size_t points[2];    /* per axis; 1 beyond the last one */
  double lengths[2];   /* of the domain, in the problem's unit; 0 beyond the last axis */
  size_t channels;     /* of one state */
  size_t values;       /* of what a step takes and gives: cluster x channels x points */
  int members;         /* networks in the committee */
  int cluster;         /* states that a step takes and gives, one after the other; mostly 1 */
  double dt;           /* between two states; 0: the file does not say */
  long horizon;        /* steps that networks with a time input have learned; 0: they have none */
  const char* problem; /* its name; "" where the file does not say, here and below */
  const char* run;     /* where it was trained: 16 digits that name the run */
  long round;          /* of that run, from 0; -1: the file does not say */
  const char* family;  /* "fno" or "dilated" */
  int walls[2];        /* how an axis ends: 0 periodic, 1 a wall beyond the first and the last point
                          (cell centres), 2 a wall on them */
  int parameters;      /* see stap_model_parameter(); 0: nothing varies */
  double level;        /* of its error bars, such as 0.9; 0: the networks were never calibrated */
  long bar_steps;      /* states that error bars reach ahead */
  long bar_trajectories;     /* that they were calibrated on */
  const unsigned char* mask; /* [x][y], 0 where there is no state (and every state is 0); or NULL */
} stap_model_info;

/* Opens a model file; NULL: it could not be read, is damaged, or needs what this reader does not
 * know, and `why` says so. Files are checked whole (sizes, checksum, names) before they are used.
 */
stap_model* stap_model_open(const char* path, char* why, size_t why_size);
/* The same of a file's content, which is copied. */
stap_model* stap_model_read(const void* bytes, size_t size, char* why, size_t why_size);
void stap_model_close(stap_model* model);

/* Valid as long as the model is open. */
const stap_model_info* stap_model_about(const stap_model* model);
/* The name of a channel, such as "u"; "" if the file does not say, or there is no such channel. */
const char* stap_model_channel(const stap_model* model, size_t channel);

/* The parameter of this number, from 0; NULL: there is no such one. */
const stap_parameter_info* stap_model_parameter(const stap_model* model, size_t number);

/* The memory that steps need, for one thread; NULL without memory. */
stap_work* stap_model_work(const stap_model* model);
void stap_work_free(stap_work* work);

/* The parameters of all steps that follow with this work area, in the order of
 * stap_model_parameter(), until others are given. 0, or -1 where one is not finite, or not above 0
 * and drawn by its logarithm. A model without parameters needs no call. */
int stap_model_set(const stap_model* model, stap_work* work, const double* parameters);

/* What follows takes a member (0, 1, ...) or STAP_MODEL_MEAN, and the number of the step: 0 from
 * the first state of a trajectory. Only networks with a time input look at the step. It returns 0,
 * or -1 and does nothing where there is no such member or step, or parameters were not set. */

/* The state after `from`; `to` may be the same array. STAP_MODEL_MEAN: the members' average. */
int stap_model_step(const stap_model* model, stap_work* work, int member, long step,
                    const double* from, double* to);
/* `steps` steps, the first of this number: [steps][values] into `states`. */
int stap_model_rollout(const stap_model* model, stap_work* work, int member, long step, long steps,
                       const double* from, double* states);
/* One step of all members at once: the average [values], each member's state [members][values],
 * and by how much members differ there [values], the standard deviation (of the members
 * themselves: divided by their number). Those that are NULL are left out; none may be `from`. */
int stap_model_members(const stap_model* model, stap_work* work, long step, const double* from,
                       double* average, double* each, double* spread);
/* The adjoint of a step: gradient[j] = sum over i of weights[i] * d to[i] / d from[j]. `gradient`
 * may be `weights`, not `from`. */
int stap_model_adjoint(const stap_model* model, stap_work* work, int member, long step,
                       const double* from, const double* weights, double* gradient);
/* That, and the gradient by the parameters: by_parameter[p] = sum over i of weights[i] * d to[i] /
 * d parameter p. Either may be NULL. */
int stap_model_gradients(const stap_model* model, stap_work* work, int member, long step,
                         const double* from, const double* weights, double* gradient,
                         double* by_parameter);

#define STAP_START_FIRST 0 /* a first state, as the solver's trajectories begin */
#define STAP_START_ANY 1   /* a state of the solver from anywhere in a trajectory */

/* A forecast with error bars: the averaged model, and every member on a way of its own, from the
 * last state that the solver has made. stap_model_begin() takes that state, the number of the step
 * that follows, and what kind of a state it is; the work area then holds the forecast, whatever else
 * is done with it. Begin again whenever the solver has made a state.
 *
 * stap_model_next() makes one step of it: `state` [values] is the averaged model's. With the
 * probability `level`, over trajectories like those of the calibration,
 *   all[0]       is at least sqrt(sum of squared errors of all channels / points),
 *   channels[c]  is at least sqrt(sum of squared errors of channel c / points),
 *   bands[c][x][y] is at least the error everywhere in channel c at once;
 * of a cluster's states one after the other ([cluster], [cluster][channels], [values]). Each of
 * these holds by itself. What is NULL is left out. A bar is infinite where there is no bound: beyond
 * bar_steps states, where networks leave the finite numbers, and without a calibration.
 *
 * It returns 0; 1 where members differ more than twice as much as on any trajectory of the
 * calibration, so that this state is unlike those and bars may not hold; or -1: no such start or
 * step, no forecast, or parameters were not set. */
int stap_model_begin(const stap_model* model, stap_work* work, int start, long step,
                     const double* from);
int stap_model_next(const stap_model* model, stap_work* work, double* state, double* all,
                    double* channels, double* bands);

#ifdef __cplusplus
}
#endif
#endif
