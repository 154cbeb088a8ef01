#pragma once

/* Trained surrogates for programs in C, and whatever calls C (the Python package does): batches of
 * rows through the engines of the library, on all cores or a GPU. One state at a time without any
 * library is stap_model.h (interfaces/c).
 *
 * States are doubles [channel][x][y] in C order; networks compute in single precision. Functions
 * return 0, or the kind of an error (the exit codes of the program: 2 arguments, 3 a file, 5 a
 * device or memory, 1 else) with its text in `why`, of `why_size` bytes with the final 0; then
 * nothing was written to results. No exception and no signal leaves them. A surrogate may be used
 * by several threads; they wait for each other.
 */
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define STAP_SURROGATE_MEAN (-1) /* the averaged model, instead of a member */

typedef struct stap_surrogate stap_surrogate;

typedef struct {
  size_t values;     /* of what one call takes and gives: cluster x channels x points */
  size_t channels;   /* of one state */
  size_t parameters; /* that vary from row to row */
  int members;       /* networks in the committee */
  int cluster;       /* states that a call takes and gives; mostly 1 */
} stap_surrogate_sizes;

/* "0.1.0": that of the library. */
const char* stap_library_version(void);

/* Opens a model file, or the newest networks of a run's folder. `device`: "cpu", "cuda" or "auto"
 * (a GPU if there is one); `threads`: 0 for all cores. */
int stap_surrogate_open(const char* path, const char* device, int threads, stap_surrogate** opened,
                        char* why, size_t why_size);
void stap_surrogate_close(stap_surrogate* surrogate);

stap_surrogate_sizes stap_surrogate_about(const stap_surrogate* surrogate);
/* The same and more as JSON, valid as long as it is open: problem, channels, points, lengths,
 * walls, dt, members, cluster, horizon (calls that a time input runs over, or null), parameters
 * (name, least, greatest), bars (level, steps, trajectories, or null), no_bars (why), warning (or
 * null), device. */
const char* stap_surrogate_text(const stap_surrogate* surrogate);

/* `calls` calls of a member or the averaged model from every row: `states` [rows][values] become
 * `made` [rows][calls][values]. `first` [rows]: the calls that lead to each state, for networks
 * with a time input; NULL: 0. `parameters` [rows][parameters] in the order of the text, finite, and
 * above 0 where they are drawn by their logarithm; NULL where there are none. States that are not
 * finite are taken as they are. Results of a row do not depend on other rows. */
int stap_surrogate_rollout(stap_surrogate* surrogate, int member, size_t rows, size_t calls,
                           const double* states, const uint32_t* first, const double* parameters,
                           double* made, char* why, size_t why_size);

/* Error bars of the averaged model's rollout, for times 0 .. T - 1, T = cluster x (1 + calls): of
 * the norm of all channels `all` [rows][T], of each `channels` [rows][T][channels] and, unless
 * NULL, of every point `bands` [rows][T][channels][x][y]; infinite where there is no bound.
 * `anywhere`: not 0 if the states are no first ones. `unlike`, unless NULL: rows on which networks
 * disagree more than on any trajectory of the calibration; bars promise nothing there. */
int stap_surrogate_bars(stap_surrogate* surrogate, int anywhere, size_t rows, size_t calls,
                        const double* states, const double* parameters, double* all,
                        double* channels, double* bands, size_t* unlike, char* why,
                        size_t why_size);

/* What `stap export-model RUN --out PATH` writes; `round` -1: the newest. */
int stap_export_model(const char* run, long round, const char* path, char* why, size_t why_size);

/* The configuration of a run's folder (config.yaml) as JSON; to be given back with stap_free. */
int stap_read_config(const char* run, char** json, char* why, size_t why_size);
void stap_free(char* text);

/* CRC-32C, as in frames of the worker protocol. */
uint32_t stap_checksum(const void* bytes, size_t size);

#ifdef __cplusplus
}
#endif
