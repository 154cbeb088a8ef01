#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "stap/config/value.h"
#include "stap/core/observer.h"
#include "stap/core/solver.h"
#include "stap/core/stop.h"
#include "stap/ic/sampler.h"

namespace stap {

/// Which data. Candidate i of the pool depends on (pde, initial, data_seed, i) alone, trajectory i
/// of the test set likewise, on another random stream: not on how many there are.
struct DataRequest {
  config::Value pde;        ///< section `pde`, with its name and every option
  std::string solver{};     ///< name of a solver that is not that of `pde`; else empty
  bool foreign = false;     ///< the solver is a program of the user's own
  config::Value initial;    ///< section `initial`, likewise
  std::size_t pool = 0;     ///< 0: no pool is made
  std::size_t test = 0;     ///< 0: no test set is made
  std::size_t steps = 1;    ///< L of the test trajectories
  std::size_t cluster = 1;  ///< k: an initial condition is the last k states of the warm-up
  std::uint64_t data_seed = 0;
};
/// All that decides about the bits, in one order (version and instruction set among them, unless
/// the solver is foreign).
config::Value data_document(const DataRequest& request);
/// The name under which the data are cached: the SHA-256 of that.
std::string data_key(const DataRequest& request);

/// What `generate` has done.
struct Generated {
  bool finished = false;                     ///< false: stopped; the same call goes on
  double seconds = 0.0;                      ///< wall-clock, all calls together
  std::string pool_sha256{}, test_sha256{};  ///< of the values; empty where nothing was made
};

/// Makes the data of a request in a folder, whatever happens in between:
///
///   config.yaml      the request (format data/1)
///   pool.h5          `states` [pool, k C, X...]
///   test.h5          `trajectory` [test, k + steps, C, X...]
///   journal.jsonl    every answer of the solver, before it is used
///   answers.bin      their states, until both files are whole
///
/// The files carry the request, its key and their SHA-256 as attributes and no times, so that a
/// call that was killed anywhere and made again ends with the same bytes. A file that is gone is
/// made anew. `solver` makes single steps, `sampler` is that of request.initial. Progress: phases
/// "pool" and "test set". Throws Error(config), with the differences, for a folder of another
/// request, for one that holds other things, a request that cannot be or a warm-up that is too
/// short; InUse if another process works there; Error(data) for a folder of another format or
/// damaged files; Error(storage); Error(numerics) naming the initial condition or test trajectory
/// that cannot be computed.
Generated generate(const DataRequest& request, const Sampler& sampler,
                   std::shared_ptr<const Solver> solver, const std::filesystem::path& folder,
                   Observer& observer, const StopAsked& stop);

/// Whether generate() would have nothing to do in this folder, as far as a look at it tells.
bool is_generated(const DataRequest& request, const std::filesystem::path& folder);

/// Where data are cached: $STAP_CACHE, else $XDG_CACHE_HOME/stap, else $HOME/.cache/stap. Empty,
/// which means nowhere, if STAP_CACHE is "off" or empty, or if none of them is set. An entry is a
/// folder called data_key(), as generate() makes it.
std::filesystem::path cache_folder();

}  // namespace stap
