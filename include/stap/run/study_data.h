#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

#include "stap/core/observer.h"
#include "stap/core/solver.h"
#include "stap/core/states.h"
#include "stap/study/study.h"

namespace stap {

/// What all runs of a study share. SHA-256 is of the values as little-endian doubles.
struct StudyData {
  States<double> pool;         ///< [pool, k C, X...]: row i is candidate i, a cluster of k states
  States<double> test;         ///< [test, T, C, X...]: state t of trajectory b is row b * T + t
  std::size_t test_times = 0;  ///< T = k + steps, the first k being the initial cluster
  std::string pool_sha256{}, test_sha256{};
};

/// Which data. Candidate i of the pool depends on (pde, initial, data_seed, i) alone, trajectory i
/// of the test set likewise, on another random stream: not on how many there are.
struct DataRequest {
  config::Choice<PdeRow> pde;
  config::Choice<SamplerRow> initial;
  std::size_t pool = 10'000;
  std::size_t test = 1'000;
  std::size_t steps = 13;   ///< L of the test trajectories
  std::size_t cluster = 1;  ///< k: an initial condition is the last k states of the warm-up
  std::uint64_t data_seed = 0;
};

/// What a study asks for. Throws Error(config) if its initial conditions are not drawn.
DataRequest data_request(const Study& study);

/// The name under which the data are cached: the SHA-256 of all that decides about their bits
/// (sections with every default filled in, sizes, seed, version, instruction set). Throws
/// Error(config) for sizes of 0 and for steps that are no multiple of the cluster.
std::string study_key(const DataRequest& request);

/// Where data are cached: $STAP_CACHE, else $XDG_CACHE_HOME/stap, else $HOME/.cache/stap. Empty,
/// which means nowhere, if STAP_CACHE is "off" or empty, or if none of them is set.
std::filesystem::path cache_folder();

/// Reads the data from KEY.h5 in the cache folder or makes them (phases "pool" and "test set") and
/// puts them there. A cached file that is damaged or does not fit is made anew, a folder that
/// cannot be written is gone without; the observer is warned of both. Safe against kills and other
/// processes: files are put in place whole, and all writers of a key write the same bytes.
/// `solver` is that of request.pde, for single steps. Throws as study_key does, Error(config) if
/// the warm-up is too short for a cluster, and Error(numerics) naming the initial condition or test
/// trajectory that cannot be computed. The file holds `states` (the pool)
/// and `trajectory` (the test set), as `stap solve` and `stap evaluate` read them.
StudyData make_study_data(const DataRequest& request, const Solver& solver, int threads,
                          Observer& observer);

}  // namespace stap
